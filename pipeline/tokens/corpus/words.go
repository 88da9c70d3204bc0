package corpus

import "strings"

// English, roughly by frequency.
var (
	nouns = strings.Fields(`file time user name path line value data list type error key text line state
 request result session message function option test model token server client node index table page
 source field object string number buffer context window version command process thread event change
 system service package module record entry item group level point part case way place word order
 reader writer parser loader handler worker queue cache store cursor column row block chunk offset
 length size count limit budget range width height depth weight ratio rate bound margin default
 folder directory archive image picture label title header footer body section chapter summary
 account password secret address domain host port socket stream channel signal packet frame route
 network gateway proxy cluster region volume disk memory processor kernel driver device sensor
 document report figure chart diagram sample example exercise lesson answer question reason purpose
 schedule calendar minute hour week month season history memoir letter journal paragraph sentence
 grammar language dialect accent alphabet symbol sign mark stamp paper pencil canvas colour pattern
 texture surface corner edge border frontier mountain river valley harbour island bridge street
 village city country market shop kitchen garden orchard forest meadow animal horse pigeon salmon
 weather wind storm thunder temperature pressure voltage current battery engine wheel lever spring
 hammer ladder ribbon basket bottle kettle lantern mirror pillow blanket carpet curtain cupboard
 doctor teacher student engineer captain sailor farmer baker painter poet judge lawyer witness
 committee council parliament election treaty budget treasury tax tariff licence permit warrant
 theory theorem lemma proof axiom vector matrix tensor scalar gradient integral polynomial quotient
 permission identity credential certificate signature fingerprint checksum digest nonce salt
 deadline timeout retry backoff heartbeat snapshot checkpoint rollback migration transaction
 iterator closure pointer slice struct enum interface generic macro symbol linker compiler debugger
 latency throughput bandwidth jitter contention starvation deadlock barrier semaphore mutex lease`)

	verbs = strings.Fields(`get set make read write open close add find check count load store parse
 return call start stop run build test move copy send receive print show hide create update delete
 remove change keep hold take give need want use allow refuse accept reject follow lead reach leave
 enter begin finish wait watch listen answer ask tell explain describe define declare assign compare
 measure weigh divide merge split join sort filter reduce collect scatter gather encode decode
 compress expand encrypt sign verify validate repair restore recover migrate publish subscribe
 schedule cancel retry resume pause handle wrap unwrap bind connect attach detach mount release
 acquire lock unlock flush commit abort replace insert append truncate rotate archive expire evict
 observe notice remember forget imagine suppose prove derive infer guess estimate approximate
 wander travel arrive depart climb descend gather harvest plant water paint carve polish mend`)

	adjectives = strings.Fields(`new old first last same other small large long short good bad next
 whole empty full open closed public private local remote global single double simple complex
 fast slow early late right wrong true false safe unsafe exact rough precise vague clear dark light
 heavy common rare usual strange certain likely possible necessary sufficient optional mandatory
 internal external temporary permanent static dynamic mutable immutable concurrent sequential
 linear quadratic logarithmic finite infinite discrete continuous relative absolute negative positive
 narrow wide shallow deep quiet noisy gentle harsh bright pale ancient modern remarkable ordinary
 trustworthy questionable deprecated experimental incremental transparent opaque reluctant generous`)

	adverbs = strings.Fields(`only also then now always never often still again already usually
 otherwise therefore however instead directly exactly nearly roughly carefully quickly slowly
 silently eventually immediately occasionally deliberately independently approximately reluctantly`)

	linking = strings.Fields(`if when because although while since unless until before after so and but or`)

	prefixes = strings.Fields(`re un pre over under sub super inter non anti multi micro auto`)
	suffixes = strings.Fields(`s s s ed ing er able less ness ful ly ish ment ation like wise free`)

	people = strings.Fields(`Anna Bertil Chiara Dmitri Eleni Farid Greta Hiroshi Ines Jonas Katya
 Liam Mariam Nadia Oskar Paola Quentin Ruth Svenja Tomasz Uma Viktor Wanda Xenia Yusuf Zofia
 Lisbon Bergen Kraków Zürich Málaga Tromsø Göteborg Brno Ghent Tartu Kaunas Sibiu`)
)
