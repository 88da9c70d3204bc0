// Package redacttest makes secrets of every kind that a session may hold, for
// the tests of the ways out. They are random, of the right shape, and open
// nothing; none stands in a source file whole.
//
// A test puts Text into a session and looks for what Leaks reports in what
// comes out.
package redacttest

import (
	"encoding/base64"
	"math/rand/v2"
	"net/url"
	"strings"
	"unicode"
)

// Secret is a text with one secret in it.
type Secret struct {
	Name   string // kind, unique in All
	Mark   string // the word in the mark that must stand for it
	Text   string // as somebody wrote it
	Secret string // the part of Text that must not come out, without what is not shown
	Block  bool   // stands on several lines: no title or folder
}

const (
	digits    = "0123456789"
	hexdigits = "0123456789abcdef"
	capitals  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	lower     = "abcdefghijklmnopqrstuvwxyz0123456789"
	letters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	base64set = letters + "+/"
	urlsafe   = letters + "-_"
)

// maker makes the secrets of one seed.
type maker struct {
	r   *rand.Rand
	all []Secret
}

// body is a random text that has a digit, as nearly all keys have.
func (m *maker) body(n int, set string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[m.r.IntN(len(set))]
	}
	b[0], b[n-1] = set[m.r.IntN(24)%len(set)], set[m.r.IntN(24)%len(set)] // no sign at the ends
	if set != capitals {
		b[n/2] = digits[m.r.IntN(10)]
	}
	return string(b)
}

// add takes text with %s for the secret.
func (m *maker) add(name, mark, text, secret string) {
	m.all = append(m.all, Secret{Name: name, Mark: mark, Text: strings.Replace(text, "%s", secret, 1), Secret: secret, Block: strings.Contains(text+secret, "\n")})
}

// All gives a secret of each kind, others for each seed.
func All(seed uint64) []Secret {
	m := &maker{r: rand.New(rand.NewPCG(seed, 48))} //nolint:gosec // the same secrets in each run
	m.clouds()
	m.chinaClouds()
	m.services()
	m.moreServices()
	m.keyBlocks()
	m.headers()
	m.files()
	m.prose()
	m.wrapped()
	m.registries()
	return m.all
}

func (m *maker) registries() {
	m.add("npm user", "password", "//npm.example.test/:_auth=%s", base64.StdEncoding.EncodeToString([]byte("dana:"+m.body(14, letters))))
	m.add("npm in the environment", "token", "NPM_AUTH=%s", m.body(36, letters))
	m.add("Azure signature alone", "url-signature", `SAS="sig=%s&se=2026-01-01&sp=r"`, m.body(43, base64set)+"%3D")
}

func (m *maker) clouds() {
	m.add("AWS access key", "aws-access-key", "id %s,", "AKIA"+m.body(16, capitals))
	m.add("AWS temporary key", "aws-access-key", "AWS_ACCESS_KEY_ID=%s", "ASIA"+m.body(16, capitals))
	m.add("AWS secret key", "aws-secret-key", "AWS_SECRET_ACCESS_KEY=%s", m.body(40, base64set))
	m.add("AWS secret key in a file", "aws-secret-key", "aws_secret_access_key = %s", m.body(40, base64set))
	m.add("AWS session token", "token", "export AWS_SESSION_TOKEN=%s", "IQoJb3JpZ2luX2Vj"+m.body(280, base64set)+"==")
	m.add("Google API key", "google-key", "?key=%s&q=1", "AI"+"za"+m.body(35, urlsafe))
	m.add("Google client secret", "google-key", "secret %s", "GOC"+"SPX-"+m.body(28, urlsafe))
	m.add("Google access token", "google-key", "%s", "ya"+"29.a0Af"+m.body(100, urlsafe))
	m.add("Google refresh token", "google-key", "refresh with %s", "1/"+"/0g"+m.body(44, urlsafe))
	m.add("Google service account", "private-key", `{"type":"service_account","private_key":"%s","client_email":"svc@proj.test"}`,
		"-----BEGIN PRIVATE"+` KEY-----\n`+m.body(64, base64set)+`\n`+m.body(64, base64set)+`\n-----END PRIVATE KEY-----\n`)
	m.add("Firebase server key", "service-token", "fcm %s", "AAAA"+m.body(7, urlsafe)+":APA"+"91b"+m.body(134, urlsafe))
	m.add("Azure storage key", "api-key", "AccountName=a;AccountKey=%s;EndpointSuffix=core.test", m.body(86, base64set)+"==")
	m.add("Azure client secret", "service-token", "the app uses %s now", m.body(3, letters)+"8Q"+"~"+m.body(34, urlsafe))
	m.add("Azure signature", "url-signature", "https://x.blob.test/c?sv=2024&sig=%s&se=1", m.body(43, base64set)+"%3D")
	m.add("Azure DevOps token", "service-token", "pat %s", m.body(52, letters)+m.body(24, letters)+"AZ"+"DO"+m.body(4, letters))
	m.add("DigitalOcean token", "service-token", "%s", "do"+"p_v1_"+m.body(64, hexdigits))
	m.add("Cloudflare token", "token", "CLOUDFLARE_API_TOKEN=%s", m.body(40, urlsafe))
	m.add("Cloudflare key", "api-key", "X-Auth-Key: %s", m.body(37, hexdigits))
	m.add("Heroku key", "api-key", "HEROKU_API_KEY=%s", m.uuid())
	m.add("Heroku token", "service-token", "%s", "HR"+"KU-AA"+m.body(58, urlsafe))
	m.add("Fly token", "service-token", "%s", "fm"+"2_lJPE"+m.body(80, base64set))
	m.add("Supabase token", "service-token", "%s", "sb"+"p_"+m.body(40, hexdigits))
	m.add("Supabase secret", "service-token", "%s", "sb_"+"secret_"+m.body(22, letters)+"_"+m.body(8, letters))
	m.add("PlanetScale password", "service-token", "%s", "pscale"+"_pw_"+m.body(43, letters))
	m.add("Databricks token", "service-token", "%s", "da"+"pi"+m.body(32, hexdigits))
}

func (m *maker) uuid() string {
	return m.body(8, hexdigits) + "-" + m.body(4, hexdigits) + "-4" + m.body(3, hexdigits) + "-a" + m.body(3, hexdigits) + "-" + m.body(12, hexdigits)
}

func (m *maker) chinaClouds() {
	m.add("Alibaba access key", "service-token", "ak %s", "LT"+"AI5t"+m.body(18, letters))
	m.add("Alibaba secret", "secret", "AccessKeySecret: %s", m.body(30, letters))
	m.add("Tencent secret id", "service-token", "%s", "AK"+"ID"+m.body(32, letters))
	m.add("Tencent secret key", "api-key", `"SecretKey": "%s"`, m.body(32, letters))
	m.add("Baidu key", "service-token", "%s", "bce"+"-v3/AL"+"TAK-"+m.body(21, letters)+"/"+m.body(40, hexdigits))
	m.add("Baidu secret", "api-key", "BAIDU_SECRET_KEY=%s", m.body(32, letters))
	m.add("Volcengine access key", "service-token", "%s", "AK"+"LT"+m.body(44, letters))
	m.add("Volcengine secret", "aws-secret-key", "VOLC_SECRETACCESSKEY=%s", m.body(58, base64set)+"==")
	m.add("Huawei secret", "secret", "HUAWEICLOUD_SK_SECRET=%s", m.body(40, letters))
}

func (m *maker) services() {
	m.add("GitHub classic token", "github-token", "my token is %s", "gh"+"p_"+m.body(36, letters))
	m.add("GitHub fine-grained token", "github-token", "use %s", "github"+"_pat_"+m.body(22, letters)+"_"+m.body(59, letters))
	m.add("GitHub app token", "github-token", "x=%s;", "gh"+"s_"+m.body(36, letters))
	m.add("GitHub app user token", "github-token", "(%s)", "gh"+"u_"+m.body(36, letters))
	m.add("GitHub OAuth token", "github-token", "%s", "gh"+"o_"+m.body(36, letters))
	m.add("GitHub refresh token", "github-token", "%s", "gh"+"r_"+m.body(76, letters))
	m.add("GitLab token", "gitlab-token", "%s", "gl"+"pat-"+m.body(20, letters))
	m.add("GitLab runner token", "gitlab-token", "%s", "gl"+"rt-"+m.body(20, letters))
	m.add("Slack bot token", "slack-token", "%s", "xo"+"xb-123456789012-"+m.body(24, letters))
	m.add("Slack user token", "slack-token", "%s", "xo"+"xp-123456789012-"+m.body(32, hexdigits))
	m.add("Slack app token", "slack-token", "%s", "xa"+"pp-1-"+m.body(40, letters))
	m.add("Slack webhook", "webhook", "https://hooks.slack.com/services/%s", "T0"+m.body(8, capitals)+"/B0"+m.body(8, capitals)+"/"+m.body(24, letters))
	m.add("Discord webhook", "webhook", "https://discord.com/api/webhooks/123456789012345678/%s", m.body(68, urlsafe))
	m.add("Discord bot token", "service-token", "bot %s", base64.RawStdEncoding.EncodeToString([]byte("1"+m.body(17, digits)))+"."+m.body(6, urlsafe)+"."+m.body(38, urlsafe))
	m.add("Telegram bot", "service-token", "bot %s", "123456789:A"+"A"+m.body(33, letters))
	m.add("Stripe key", "stripe-key", "%s", "sk"+"_live_"+m.body(24, letters))
	m.add("Stripe restricted key", "stripe-key", "%s", "rk"+"_test_"+m.body(24, letters))
	m.add("Stripe webhook secret", "stripe-key", "%s", "wh"+"sec_"+m.body(32, letters))
	m.add("npm token", "npm-token", "publish with %s", "np"+"m_"+m.body(36, letters))
	m.add("PyPI token", "service-token", "%s", "py"+"pi-AgEIcHlwaS5vcmc"+m.body(60, urlsafe))
	m.add("RubyGems key", "service-token", "%s", "rubygems"+"_"+m.body(48, hexdigits))
	m.add("Docker token", "service-token", "%s", "dckr"+"_pat_"+m.body(27, urlsafe))
	m.add("Hugging Face token", "huggingface-token", "%s", "h"+"f_"+m.body(34, letters))
	m.add("OpenAI key", "openai-key", "OPENAI %s", "sk"+"-"+m.body(20, letters)+"T3Blbk"+"FJ"+m.body(20, letters))
	m.add("OpenAI project key", "openai-key", "%s", "sk"+"-proj-"+m.body(124, urlsafe))
	m.add("Anthropic key", "anthropic-key", "%s", "sk"+"-ant-api03-"+m.body(93, urlsafe)+"AA")
	m.add("DeepSeek key", "openai-key", "deepseek %s", "sk"+"-"+m.body(32, hexdigits))
	m.add("OpenRouter key", "service-token", "%s", "sk"+"-or-v1-"+m.body(64, hexdigits))
	m.add("Groq key", "service-token", "%s", "gs"+"k_"+m.body(52, letters))
	m.add("Zhipu key", "api-key", "ZHIPUAI_API_KEY=%s", m.body(32, hexdigits)+"."+m.body(16, letters))
	m.add("Replicate token", "service-token", "%s", "r8"+"_"+m.body(37, letters))
}

func (m *maker) moreServices() {
	m.add("Twilio key", "service-token", "twilio %s", "S"+"K"+m.body(32, hexdigits))
	m.add("Twilio token", "token", "TWILIO_AUTH_TOKEN=%s", m.body(32, hexdigits))
	m.add("SendGrid key", "service-token", "%s", "S"+"G."+m.body(22, urlsafe)+"."+m.body(43, urlsafe))
	m.add("Mailgun key", "service-token", "mg %s", "ke"+"y-"+m.body(32, hexdigits))
	m.add("Mailchimp key", "service-token", "mc %s", m.body(32, hexdigits)+"-us"+"21")
	m.add("Datadog key", "api-key", "DD_API_KEY=%s", m.body(32, hexdigits))
	m.add("Datadog application key", "api-key", "DD_APP_KEY=%s", m.body(40, hexdigits))
	m.add("Sentry DSN", "url-password", "SENTRY_DSN=https://%s@o45.ingest.sentry.test/1234", m.body(32, hexdigits))
	m.add("Sentry token", "service-token", "%s", "sntr"+"ys_eyJpYXQiOjE3"+m.body(90, letters))
	m.add("New Relic key", "service-token", "%s", "NR"+"AK-"+m.body(27, capitals))
	m.add("Grafana token", "service-token", "%s", "gl"+"sa_"+m.body(32, letters)+"_"+m.body(8, hexdigits))
	m.add("Shopify token", "service-token", "%s", "shp"+"at_"+m.body(32, hexdigits))
	m.add("Square token", "service-token", "%s", "sq0"+"atp-"+m.body(22, urlsafe))
	m.add("Square access token", "service-token", "%s", "EA"+"AAl"+m.body(59, urlsafe))
	m.add("Linear key", "service-token", "%s", "lin"+"_api_"+m.body(40, letters))
	m.add("Notion token", "service-token", "%s", "nt"+"n_"+m.body(46, letters))
	m.add("Notion old token", "service-token", "notion %s", "sec"+"ret_"+m.body(43, letters))
	m.add("Figma token", "service-token", "%s", "fi"+"gd_"+m.body(40, urlsafe))
	m.add("Atlassian token", "service-token", "%s", "ATA"+"TT3xFfGF0"+m.body(170, urlsafe))
	m.add("Bitbucket token", "service-token", "%s", "AT"+"BB"+m.body(32, letters))
	m.add("Okta token", "authorization", "Authorization: SSWS %s", "00"+m.body(40, urlsafe))
	m.add("Terraform token", "service-token", "credentials %s", m.body(14, letters)+".atlas"+"v1."+m.body(64, urlsafe))
	m.add("Vault token", "service-token", "%s", "hv"+"s.CAES"+m.body(90, urlsafe))
	m.add("Vault old token", "token", "VAULT_TOKEN=%s", "s."+m.body(24, letters))
	m.add("Tailscale key", "service-token", "%s", "ts"+"key-auth-"+m.body(12, letters)+"CNTRL-"+m.body(32, letters))
	m.add("ngrok token", "token", "ngrok config add-authtoken %s", m.body(27, letters)+"_"+m.body(21, letters))
	m.add("Postman key", "service-token", "%s", "PM"+"AK-"+m.body(24, hexdigits)+"-"+m.body(34, hexdigits))
	m.add("Doppler token", "service-token", "%s", "dp"+".pt."+m.body(43, letters))
	m.add("Airtable token", "service-token", "%s", "pa"+"t"+m.body(14, letters)+"."+m.body(64, hexdigits))
	m.add("HubSpot token", "service-token", "%s", "pa"+"t-na1-"+m.uuid())
	m.add("CircleCI token", "service-token", "%s", "CCI"+"PAT_"+m.body(22, letters)+"_"+m.body(40, hexdigits))
	m.add("Netlify token", "service-token", "%s", "nf"+"p_"+m.body(36, letters))
	m.add("Artifactory token", "service-token", "%s", "AK"+"Cp8"+m.body(68, letters))
	m.add("Brevo key", "service-token", "%s", "xkey"+"sib-"+m.body(64, hexdigits)+"-"+m.body(16, letters))
	m.add("1Password token", "service-token", "%s", "ops"+"_eyJzaWduSW5BZGRyZXNz"+m.body(200, letters))
	m.add("LangSmith key", "service-token", "%s", "lsv2"+"_pt_"+m.body(32, hexdigits)+"_"+m.body(10, hexdigits))
	m.add("Facebook token", "service-token", "%s", "EA"+"ACEdEose0cBA"+m.body(120, letters))
}

func (m *maker) keyBlocks() {
	block := func(kind, data string) string {
		return "-----BEGIN " + kind + "-----\n" + data + "\n-----END " + kind + "-----"
	}
	lines := func() string { return m.body(64, base64set) + "\n" + m.body(64, base64set) }
	for _, kind := range []string{"PRIVATE" + " KEY", "RSA PRIVATE" + " KEY", "EC PRIVATE" + " KEY", "OPENSSH PRIVATE" + " KEY", "PGP PRIVATE" + " KEY BLOCK"} {
		m.add(kind, "private-key", "key:\n%s\ndone", block(kind, lines()))
	}
	m.add("half of a key block", "private-key", "head -3 id_rsa\n%s\n$ ls", "-----BEGIN PRIVATE"+" KEY-----\n"+lines())
	m.add("age key", "private-key", "%s", "AGE-SECRET"+"-KEY-1"+m.body(58, capitals))
	m.add("WireGuard key", "api-key", "PrivateKey = %s", m.body(43, base64set)+"=")
	m.add("key block in base64", "private-key", "client-key-data: %s", base64.StdEncoding.EncodeToString([]byte(block("RSA PRIVATE"+" KEY", lines()))))
}

func (m *maker) headers() {
	m.add("bearer token", "bearer-token", "got Bearer %s back", m.body(32, letters))
	m.add("authorization header", "authorization", "curl -H 'Authorization: Bearer %s'", m.body(40, letters))
	m.add("basic header", "authorization", "Authorization: Basic %s", base64.StdEncoding.EncodeToString([]byte("dana:"+m.body(14, letters))))
	m.add("cookie", "cookie", "Set-Cookie: theme=dark; session=%s; Path=/", m.body(32, letters))
	m.add("cookie sent", "cookie", "-H 'Cookie: sid=%s'", m.body(40, urlsafe))
	m.add("key header", "api-key", "X-Api-Key: %s", m.body(32, letters))
	m.add("GitLab header", "token", "PRIVATE-TOKEN: %s", m.body(20, letters))
	m.add("JSON web token", "jwt", "cookie jar %s end", "ey"+"JhbGciOiJIUzI1NiJ9.ey"+"J"+m.body(40, urlsafe)+"."+m.body(43, urlsafe))
	m.add("URL password", "url-password", "postgres://svc:%s@db.example.test/app", m.body(12, letters))
	m.add("URL with a token alone", "url-password", "git clone https://%s@git.example.test/a.git", m.body(40, hexdigits))
	m.add("URL without a user", "url-password", "redis://:%s@cache:6379/0", m.body(12, letters))
	m.add("signed URL", "url-signature", "https://s3.test/k?X-Amz-Signature=%s", m.body(64, hexdigits))
	m.add("token in a query", "token", "https://api.test/v1?access_token=%s&x=1", m.body(40, letters))
	m.add("user of curl", "password", "curl -u dana:%s https://x.test", m.body(12, letters))
	m.add("password of sshpass", "password", "sshpass -p %s ssh dana@host", m.body(12, letters))
	m.add("password of mysql", "password", "mysql -uroot -p%s shop", m.body(12, letters))
	m.add("password of docker", "password", "docker login -u dana -p %s registry.test", m.body(12, letters))
}

func (m *maker) files() {
	m.add("env file", "password", "DB_PASSWORD=%s", m.body(12, lower))
	m.add("env file quoted", "password", `DB_PASSWORD="%s"`, m.body(12, letters))
	m.add("JSON", "password", `{"user":"dana","password": "%s"}`, m.body(12, letters))
	m.add("JSON in JSON", "password", `{\"password\": \"%s\"}`, m.body(12, letters))
	m.add("YAML", "password", "spring.datasource.password: %s", m.body(12, letters))
	m.add("TOML", "secret", `client_secret = "%s"`, m.body(24, letters))
	m.add("netrc", "password", "machine git.example.test login dana password %s", m.body(14, letters))
	m.add("pgpass", "password", "db.example.test:5432:shop:dana:%s", m.body(14, letters))
	m.add("npmrc", "token", "//registry.npmjs.org/:_authToken=%s", m.body(36, hexdigits))
	m.add("docker config", "password", `{"auths":{"registry.test":{"auth":"%s"}}}`, base64.StdEncoding.EncodeToString([]byte("dana:"+m.body(14, letters))))
	m.add("kube config", "jwt", "    token: %s", "ey"+"JhbGciOiJSUzI1NiIsImtpZCI6"+m.body(20, letters)+".ey"+"J"+m.body(80, letters)+"."+m.body(86, urlsafe))
	m.add("kubeadm token", "token", "kubeadm join 10.0.0.1:6443 --token %s", m.body(6, lower)+"."+m.body(16, lower))
	m.add("Rails key", "api-key", "SECRET_KEY_BASE=%s", m.body(128, hexdigits))
	m.add("Django key", "api-key", "SECRET_KEY = '%s'", "django-"+"insecure-"+m.body(30, letters)+"#(&"+m.body(12, lower))
	m.add("connection string", "password", "Server=db;Database=shop;User Id=sa;Password=%s;Encrypt=true", m.body(14, letters))
	m.add("libpq string", "password", "host=db user=dana password=%s dbname=shop", m.body(14, letters))
	m.add("MySQL DSN", "password", "dana:%s@tcp(127.0.0.1:3306)/shop", m.body(14, letters))
	m.add("JDBC URL", "password", "jdbc:mysql://db:3306/shop?user=dana&password=%s&useSSL=false", m.body(14, letters))
	m.add("mongo URL", "url-password", "mongodb+srv://admin:%s@c0.example.test", m.body(14, letters))
}

func (m *maker) prose() {
	m.add("prose", "password", "the password is %s, try it", m.body(12, letters))
	m.add("prose with a colon", "password", "Password: %s", m.body(12, letters))
	m.add("prose quoted", "password", "log in with the password \"%s\" please", m.body(12, letters))
	m.add("prose in German", "password", "das Passwort lautet %s", m.body(12, letters))
	m.add("prose in Chinese", "password", "数据库密码是%s，你试一下", m.body(12, letters))
	m.add("Chinese label", "password", "用户名：dana 密码：%s", m.body(12, letters))
	m.add("prose in Japanese", "password", "パスワードは%sです", m.body(12, letters))
	m.add("API key in prose", "api-key", "the API key is %s", m.body(32, letters))
	m.add("pass phrase", "password", "passphrase: \"%s\"", m.body(10, lower)+" "+m.body(9, lower)+" "+m.body(9, lower))
}

// wrapped are secrets in clothes: hidden characters, percent signs, base64.
func (m *maker) wrapped() {
	apart := func(name, hide string) {
		token := "gh" + "p_" + m.body(36, letters)
		m.add(name, "github-token", "my %s end", token)
		m.all[len(m.all)-1].Text = "my " + token[:9] + hide + token[9:22] + hide + token[22:] + " end"
	}
	apart("split by zero-width space", "\u200b")
	apart("split by colours", "\x1b[01;31m\x1b[K")
	apart("split by a soft hyphen", "\u00ad")
	apart("split by direction marks", "\u202d")
	apart("split by colours, in JSON", `\u001b[01;31m\u001b[K`)
	apart("split by zero-width space, in JSON", `\u200b`)
	pass := m.body(14, letters)
	m.add("percent-encoded JSON", "password", "payload=%s", "")
	last := &m.all[len(m.all)-1]
	last.Text, last.Secret = "payload="+url.QueryEscape(`{"user":"dana","password":"`+pass+`"}`), pass
	m.add("percent-encoded form", "password", "body=%s", "")
	pass = m.body(14, letters)
	last = &m.all[len(m.all)-1]
	last.Text, last.Secret = "body=user%3Ddana%26password%3D"+pass+"%26x%3D1", pass
	wrap := func(name, text string) {
		m.add(name, "secret", "data %s end", base64.StdEncoding.EncodeToString([]byte(text)))
	}
	wrap("base64 of JSON", `{"user":"dana","password":"`+m.body(14, letters)+`"}`)
	wrap("base64 of indented JSON", "{\n  \"token\": \"gh"+"p_"+m.body(36, letters)+"\"\n}")
	m.add("in a Markdown table", "github-token", "| token | `%s` |", "gh"+"p_"+m.body(36, letters))
	m.add("in HTML", "github-token", "<code>%s</code>", "gh"+"p_"+m.body(36, letters))
	m.add("in a quoted string", "aws-access-key", `"a\n%s"`, "AKIA"+m.body(16, capitals))
}

// window is how many characters of a secret in a row are a leak.
const window = 9

// Leaks finds out which secrets, or parts of them, a text holds.
type Leaks struct{ windows map[string]string }

// NewLeaks looks for these secrets. What they begin with, such as a prefix
// that all keys of a kind have, is no part of them.
func NewLeaks(secrets []Secret) *Leaks {
	l := &Leaks{windows: map[string]string{}}
	for _, s := range secrets {
		words := strings.Fields(s.Secret) // as it is, and as a file name has it
		words = append(words, strings.FieldsFunc(s.Secret, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
		for _, word := range words {
			word = strings.ToLower(word)
			for i := 0; i+window <= len(word); i++ {
				// A name has no digit; the windows beside it have, in nearly all keys.
				// Numbers that stand beside a secret are none.
				if w := word[i : i+window]; !strings.Contains("123456789012345678", w) && (strings.ContainsAny(w, digits) || len(word) >= 16 && !strings.ContainsAny(word, digits)) {
					l.windows[w] = s.Name
				}
			}
		}
	}
	return l
}

// In returns the names of the secrets that text leaks, each with the part that
// stands there. Letters of either case, and what isn't shown, make no difference.
func (l *Leaks) In(text string) map[string]string {
	text = strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text))
	var found map[string]string
	for i := 0; i+window <= len(text); i++ {
		if name, ok := l.windows[text[i:i+window]]; ok {
			if found == nil {
				found = map[string]string{}
			}
			found[name] = text[i : i+window]
		}
	}
	return found
}
