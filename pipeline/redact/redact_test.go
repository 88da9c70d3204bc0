package redact_test

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/redact"
)

const (
	hexdigits = "0123456789abcdef"
	capitals  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	letters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	base64    = letters + "+/"
)

// body makes a random-looking text, the same each time: no token of this
// file opens anything, and none stands in it whole.
func body(n int, set string) string {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(set))))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	b[n/2] = '7'
	if set == capitals {
		b[n/2] = 'Q'
	}
	return string(b)
}

type secret struct {
	kind    redact.Kind
	text    string // with %s where the secret stands
	secret  string
	visible string // what must stay readable, besides the mark
}

// secrets is the set that a release must redact to the last one.
func secrets() []secret {
	pem := func(kind, data string) string {
		return "-----BEGIN " + kind + "-----\n" + data + "\n-----END " + kind + "-----"
	}
	jwt := "ey" + "J" + body(20, letters) + ".ey" + "J" + body(40, letters) + "." + body(43, letters)
	return []secret{
		{redact.KindPrivateKey, "key:\n%s\ndone", pem("PRIVATE KEY", body(64, base64)), "done"},
		{redact.KindPrivateKey, "%s", pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\n"+body(64, base64)+"\n"+body(64, base64)), ""},
		{redact.KindPrivateKey, "%s", pem("OPENSSH PRIVATE KEY", body(70, base64)), ""},
		{redact.KindPrivateKey, "%s", pem("PGP PRIVATE KEY BLOCK", body(70, base64)), ""},
		{redact.KindPrivateKey, `{"cmd":"echo '%s'"}`, strings.ReplaceAll(pem("EC PRIVATE KEY", body(64, base64)), "\n", `\n`), `{"cmd":"echo '`},
		{redact.KindPrivateKey, "head -3 id_rsa\n%s\n$ ls", "-----BEGIN PRIVATE KEY-----\n" + body(64, base64), "$ ls"},
		{redact.KindPrivateKey, "%s", "AGE-SECRET" + "-KEY-1" + body(58, capitals), ""},
		{redact.KindAWSAccessKey, "id %s.", "AKIA" + body(16, capitals), "id "},
		{redact.KindAWSAccessKey, "AWS_ACCESS_KEY_ID=%s", "ASIA" + body(16, capitals), "AWS_ACCESS_KEY_ID="},
		{redact.KindAWSSecretKey, "AWS_SECRET_ACCESS_KEY=%s\n", body(40, base64), "AWS_SECRET_ACCESS_KEY="},
		{redact.KindAWSSecretKey, "aws_secret_access_key = %s", body(40, base64), "aws_secret_access_key = "},
		{redact.KindAWSSecretKey, `"SecretAccessKey": "%s",`, body(40, base64), `"SecretAccessKey": "`},
		{redact.KindGitHubToken, "my token is %s", "gh" + "p_" + body(36, letters), "my token is "},
		{redact.KindGitHubToken, "%s", "gh" + "o_" + body(36, letters), ""},
		{redact.KindGitHubToken, "(%s)", "gh" + "u_" + body(36, letters), ""},
		{redact.KindGitHubToken, "x=%s;", "gh" + "s_" + body(36, letters), ""},
		{redact.KindGitHubToken, `"a\n%s"`, "gh" + "r_" + body(76, letters), ""},
		{redact.KindGitHubToken, "word%s", "gh" + "p_" + body(36, letters), "word"},
		{redact.KindGitHubToken, "use %s", "github" + "_pat_" + body(22, letters) + "_" + body(59, letters), "use "},
		{redact.KindGitLabToken, "%s", "gl" + "pat-" + body(20, letters), ""},
		{redact.KindGitLabToken, "%s", "gl" + "rt-" + body(20, letters), ""},
		{redact.KindOpenAIKey, "OPENAI %s", "sk" + "-" + body(48, letters), "OPENAI "},
		{redact.KindOpenAIKey, "%s", "sk" + "-proj-" + body(60, letters+"_-"), ""},
		{redact.KindOpenAIKey, "deepseek %s", "sk" + "-" + body(32, hexdigits), "deepseek"},
		{redact.KindAnthropicKey, "%s", "sk" + "-ant-api03-" + body(90, letters+"_"), ""},
		{redact.KindServiceToken, "%s", "sk" + "-or-v1-" + body(64, hexdigits), ""},
		{redact.KindSlackToken, "%s", "xo" + "xb-123456789012-" + body(24, letters), ""},
		{redact.KindSlackToken, "%s", "xo" + "xp-123456789012-" + body(32, hexdigits), ""},
		{redact.KindSlackToken, "%s", "xa" + "pp-1-" + body(40, letters), ""},
		{redact.KindWebhook, "https://hooks.slack.com/services/%s", "T0" + body(8, capitals) + "/B0" + body(8, capitals) + "/" + body(24, letters), "https://hooks.slack.com/services/"},
		{redact.KindWebhook, "https://discord.com/api/webhooks/123456789012345678/%s", body(68, letters), "webhooks/123456789012345678/"},
		{redact.KindGoogleKey, "key=%s", "AI" + "za" + body(35, letters), "key="},
		{redact.KindGoogleKey, "%s", "GOC" + "SPX-" + body(28, letters), ""},
		{redact.KindStripeKey, "%s", "sk" + "_live_" + body(24, letters), ""},
		{redact.KindStripeKey, "%s", "rk" + "_test_" + body(24, letters), ""},
		{redact.KindNPMToken, "//registry.npmjs.org/ %s", "np" + "m_" + body(36, letters), "//registry"},
		{redact.KindHuggingFaceToken, "%s", "h" + "f_" + body(34, letters), ""},
		{redact.KindServiceToken, "%s", "py" + "pi-AgEI" + body(60, letters), ""},
		{redact.KindServiceToken, "%s", "do" + "p_v1_" + body(64, hexdigits), ""},
		{redact.KindServiceToken, "%s", "S" + "G." + body(22, letters) + "." + body(43, letters), ""},
		{redact.KindServiceToken, "%s", "gs" + "k_" + body(52, letters), ""},
		{redact.KindServiceToken, "bot %s", "123456789:A" + "A" + body(33, letters), "bot "},
		{redact.KindWebToken, "cookie jar %s end", jwt, " end"},
		{redact.KindURLPassword, "postgres://svc:%s@db.example.test/app", "s3cr3tpass", "postgres://svc:[redacted:url-password]@db.example.test/app"},
		{redact.KindURLPassword, "mongodb+srv://admin:%s@c0.example.test", "p@ss:w0rd", "@c0.example.test"},
		{redact.KindURLPassword, "redis://:%s@cache:6379/0", "hunter2", "@cache:6379/0"},
		{redact.KindURLPassword, "git clone https://me:%s@git.example.test/a.git", "with/slash", "@git.example.test"},
		{redact.KindURLSignature, "https://x.blob.test/c?sv=2024&sig=%s&se=1", body(44, letters) + "%3D", "&se=1"},
		{redact.KindURLSignature, `SAS="sig=%s&se=2026-01-01&sp=r"`, body(43, base64) + "%3D", `&se=2026-01-01&sp=r"`},
		{redact.KindURLSignature, "sv=2024-08-04&sp=r&sig=%s", body(20, letters), "sp=r&sig="},
		{redact.KindURLSignature, "the SAS has sig=%s", body(43, letters) + "=", "the SAS has sig="},
		{redact.KindURLSignature, "?to=https%3A%2F%2Fx.test%2Fc%3Fsv%3D2024%26sig%3D%s%26se%3D1", body(43, letters) + "%253D", "%26se%3D1"},
		{redact.KindURLSignature, "https://s3.test/k?X-Amz-Signature=%s", body(64, hexdigits), "X-Amz-Signature="},
		{redact.KindBearerToken, "got Bearer %s back", "abcdefghijklmnopqrstuvwxyz012345", "got Bearer "},
		{redact.KindAuthorization, "curl -H 'Authorization: Bearer %s'", body(40, letters), "Authorization: Bearer "},
		{redact.KindAuthorization, "Authorization: Basic %s", "dXNlcjpwYXNz", "Authorization: Basic "},
		{redact.KindAuthorization, `"authorization": "%s"`, body(32, hexdigits), `"authorization": "`},
		{redact.KindCookie, "Set-Cookie: theme=dark; session=%s", body(32, letters), "theme=dark; session="},
		{redact.KindPassword, `DB_PASSWORD="%s"`, "hunter2hunter2", `DB_PASSWORD="`},
		{redact.KindPassword, `password = "%s"`, "correcthorse", `password = "`},
		{redact.KindPassword, "PGPASSWORD=%s psql", "swordfish", " psql"},
		{redact.KindPassword, `{\"password\": \"%s\"}`, "tr0ub4dor", `\"}`},
		{redact.KindPassword, "mysqldump --password=%s db", "Tr0ub4dor&3"[:9], " db"},
		{redact.KindPassword, "login --password %s", "s3cretpw", "login --password "},
		{redact.KindPassword, "machine api.test\n  login bob\n  password %s\n", "s3cretpw", "machine api.test\n  login bob\n  password "},
		{redact.KindPassword, "machine api.test\r\n\tpassword %s\r\n", "s3cretpw", "machine api.test\r\n\tpassword "},
		{redact.KindPassword, "default login bob\n\npassword %s\n", "s3cretpw", "default login bob\n\npassword "},
		{redact.KindPassword, "machine api.test login bob password %s", "swordfish", "login bob password "},
		{redact.KindPassword, "+machine api.test user bob account a password %s\n", "swordfish", "account a password "},
		{redact.KindPassword, "echo 'machine api.test password %s login bob' >> ~/.netrc", "swordfish", " login bob"},
		{redact.KindPassword, "machine localhost\n  login bob\n  password %s\n", "swordfish", "login bob\n  password "},
		{redact.KindPassword, "//r.test/:_auth=%s\n", "dXNlcjpzd29yZGZpc2g=", "//r.test/:_auth="},
		{redact.KindPassword, `NPM_AUTH="%s"`, "dXNlcjpzd29yZGZpc2g=", `NPM_AUTH="`},
		{redact.KindPassword, "npm config set //r.test/:_auth %s", "dXNlcjpzd29yZGZpc2g=", ":_auth "},
		{redact.KindToken, "NPM_AUTH=%s", body(32, letters), "NPM_AUTH="},
		{redact.KindToken, "_auth = %s", body(32, letters), "_auth = "},
		{redact.KindToken, "npm config set //r.test/:_authToken %s", body(36, letters), ":_authToken "},
		{redact.KindToken, "//r.test/:_authToken=%s", "qWxRtYpLkZmNbVcQsDfGhJwErTyUiO", ":_authToken="},
		{redact.KindPassword, "spring.datasource.password: %s", "p4ssw0rt!", "password: "},
		{redact.KindPassword, "the password is %s.", "sommer2026", "the password is "},
		{redact.KindPassword, "config['smtp_pass'] = '%s'", "mail4711", "smtp_pass"},
		{redact.KindPassword, "curl -u dana:%s https://x.test", "geheim12", "curl -u dana:"},
		{redact.KindSecret, "CLIENT_SECRET=%s", body(32, letters), "CLIENT_SECRET="},
		{redact.KindSecret, `client_secret: "%s"`, body(24, letters), `client_secret: "`},
		{redact.KindToken, "//registry.npmjs.org/:_authToken=%s", body(36, hexdigits), "_authToken="},
		{redact.KindToken, `"access_token":"%s"`, body(40, letters), `"access_token":"`},
		{redact.KindAPIKey, "api_key=%s", body(32, hexdigits), "api_key="},
		{redact.KindAPIKey, "X-Api-Key: %s", body(32, letters), "X-Api-Key: "},
		{redact.KindPassword, "**Password:** %s", "G1raffe-Passw0rd", "**Password:** "},
		{redact.KindPassword, "- Password: **%s**", "G1raffe-Passw0rd", "- Password: **"},
		{redact.KindPassword, "<password>%s</password>", "G1raffe-Passw0rd", "</password>"},
		{redact.KindPassword, "my db pw = %s", "hunter2Zebra!", "pw = "},
		{redact.KindPassword, "pw: %s", "hunter2Zebra!", "pw: "},
		{redact.KindPassword, "user: dana, pass: %s", "hunter2Zebra!", "pass: "},
		{redact.KindPassword, "password (staging): %s", "hunter2Zebra!", "password (staging): "},
		{redact.KindPassword, "The password for staging is %s", "hunter2Zebra!", "for staging is "},
		{redact.KindPassword, "set the password to %s", "hunter2Zebra!", "to "},
		{redact.KindPassword, "DB password -> %s", "hunter2Zebra!", "-> "},
		{redact.KindAPIKey, "AccountName=a;AccountKey=%s;", body(86, base64) + "==", "AccountName=a;AccountKey="},
	}
}

func TestEverySecretIsReplacedByItsMark(t *testing.T) {
	all := secrets()
	if len(all) < 60 {
		t.Fatalf("the set holds %d secrets, want 60 or more", len(all))
	}
	reliability.Fault(t, 48, "secrets of known shapes, alone and amid other text")
	defer func() {
		if !t.Failed() {
			reliability.Figure(t, 17, "%d of %d secrets of known shapes are replaced by their mark", len(all), len(all))
		}
	}()
	for _, s := range all {
		for _, around := range []string{"%", "before\n%\nafter", "日本語 % 中文"} {
			in := strings.Replace(around, "%", strings.Replace(s.text, "%s", s.secret, 1), 1)
			want := strings.Replace(around, "%", strings.Replace(s.text, "%s", "[redacted:"+s.kind.String()+"]", 1), 1)
			got := redact.Text(in)
			if got != want {
				t.Errorf("%q\n got %q\nwant %q", in, got, want)
			}
			if !strings.Contains(got, s.visible) {
				t.Errorf("%q lost %q", got, s.visible)
			}
			if again := redact.Text(got); again != got {
				t.Errorf("second pass changed %q to %q", got, again)
			}
			if n := redact.Count(in); len(n) != 1 || n[s.kind] != 1 {
				t.Errorf("%q: count %v, want one %v", in, n, s.kind)
			}
		}
	}
}

// harmless is text that must come through untouched.
var harmless = []string{
	"commit 7be40a9c1d2e3f405162738495a6b7c8d9e0f1a2",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"sha512-" + "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
	"id 550e8400-e29b-41d4-a716-446655440000",
	"019c4a10-9790-7c5e-9a41-3f08b7d20e63",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
	"[image: image/png, 48213 bytes]",
	"/home/dana/.ssh/id_ed25519.pub C:\\Users\\dana\\secrets\\key.pem",
	"func Token(s string) (token string, err error) { token = scanner.Text(); return token, nil }",
	"token := os.Getenv(\"API_TOKEN\")",
	"password: str = Field(..., min_length=8)",
	"const password = await prompt(`Password for ${user}: `)",
	"if password == \"\" { return errNoPassword }",
	"input type=\"password\" name=\"new-password\" autocomplete=\"current-password\"",
	"max_tokens: 4096, token_count=120000, tokenizer = \"o200k_base\"",
	"tokens: {dialogue: 4386, encoding: o200k_base}",
	"\"encoding\": \"cl100k_base\", \"token\": \"o200k_base\"",
	"api_key = settings.OPENAI_API_KEY",
	"api_key: ${OPENAI_API_KEY}",
	"OPENAI_API_KEY=your_api_key_here_1234567890",
	"export GITHUB_TOKEN=$(gh auth token)",
	"password=$DB_PASSWORD psql",
	"--- PASS: TestUpload2 (0.00s)",
	"pass: TestUpload2 passes now, pass: 12, pass=true pass: internal/x2/y.go",
	"| Password | text field | Password2Field |",
	"the password to unlock the keyring, the password for this is kept elsewhere",
	"set the password to something2remember in the settings",
	"<password>{{.Password}}</password> **Password:** required",
	"a token -> string map, password -> hash",
	"PASSWORD=******** PWD=/home/dana/proj",
	"PWD=/srv/app12/data34",
	"the secret is to keep it simple",
	"secret: the user's words are kept verbatim, 12 of 15",
	"secretName: db-credentials",
	"key: value, primary key: id, cache key = user:1234:profile",
	"keyboard, keynote, tokenization, passing, bypass, secretary",
	"Authorization: Bearer <token>",
	"Authorization header is missing",
	"uses bearer authentication against the endpoint",
	"Bearer ${TOKEN}",
	"http://localhost:8080/path@v1",
	"ssh://git@github.com:22/org/repo.git",
	"https://pkg.go.dev/github.com/a/b@v1.2.3?tab=doc",
	"https://user:${PASS}@host/",
	"https://registry.npmjs.org/@scope/pkg/-/pkg-1.0.0.tgz",
	"sk-cube-grid sk-loading-indicator-wrapper-element",
	"task-1234567890123456789012 risk-abc",
	"npm_config_registry=https://registry.npmjs.org npm_lifecycle_event=test",
	"hf_hub_download, ghp_, glpat-, sk-, AKIA",
	"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	"AKIAIOSFODNN7", // too short
	"strings.Contains(s, \"-----BEGIN PRIVATE KEY-----\")",
	"-----BEGIN CERTIFICATE-----\nMIIBVgIBADANBgkqhkiG9w0BAQEFAASCMIIBVgIBADANBgkq\n-----END CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEFAASC\n-----END PUBLIC KEY-----",
	"docker run -u 1000:1000 img; psql -u dana",
	"eyJust a word. eyJ.eyJ.",
	"Cookie: theme=dark; lang=de",
	"2026-02-11T08:18:47+08:00 took 12.345s :AA",
	"[redacted:github-token] and [redacted:password]",
	"token=[redacted:token]&x=1",
	"密码: 请输入密码 パスワード",
	"pass: 53, fail: 0; password_reset_sent_at: 2026",
	"page_token: 12345678, nextToken: null",
	"go: downloading github.com/pkoukk/tiktoken-go v0.1.8",
	"github.com/BurntSushi/toml v1.6.0/go.mod h1:ukJfTF/6rtPPRCnwkur4qwRxa8vTRFBF0uk2lLoLwho=",
	"",
	"ab",
}

// The sources and documents of this repository are ordinary text: next to no
// line of it may be touched.
func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	root := filepath.Join("..", "..")
	lines, touched := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "redact" || len(name) > 2 && name[0] == '.' {
				return fs.SkipDir // secrets stand there
			}
			return nil
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".md" && ext != ".sum" && d.Name() != "Makefile" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, line := range strings.Split(string(text), "\n") {
			lines++
			if redact.Text(line) != line {
				touched++
				t.Logf("%s: %s", path, line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines < 10_000 || touched*100 > lines {
		t.Errorf("%d of %d lines were touched", touched, lines)
	}
	reliability.Figure(t, 17, "%d of %d lines of ordinary text touched (%.3f %%)", touched, lines, 100*float64(touched)/float64(lines))
}

func TestHarmlessTextIsLeftAlone(t *testing.T) {
	for _, s := range harmless {
		if got := redact.Text(s); got != s {
			t.Errorf("%q\nbecame %q", s, got)
		}
	}
}

func TestHarmlessTextInOnePiece(t *testing.T) {
	in := strings.Join(harmless, "\n")
	for _, f := range redact.Find(in) {
		t.Errorf("%v: %q", f.Kind, in[f.From:f.To])
	}
}

// An entry of a .netrc without a machine is known by being its line.
func TestDefaultOfNetrc(t *testing.T) {
	for _, in := range []string{"default login bob password %s", "# mine\n  default login bob password %s\n", "default\nlogin bob\npassword %s\n"} {
		if got, want := redact.Text(strings.Replace(in, "%s", "swordfish", 1)), strings.Replace(in, "%s", "[redacted:password]", 1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSeveralInOneText(t *testing.T) {
	in := "DB_PASSWORD=\"hunter2hunter2\"\nAWS_ACCESS_KEY_ID=AKIA" + body(16, capitals) +
		"\nDATABASE_URL=postgres://svc:s3cr3tpass@db.example.test/app\n"
	want := "DB_PASSWORD=\"[redacted:password]\"\nAWS_ACCESS_KEY_ID=[redacted:aws-access-key]" +
		"\nDATABASE_URL=postgres://svc:[redacted:url-password]@db.example.test/app\n"
	if got := redact.Text(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f := redact.Find(in)
	if len(f) != 3 || in[f[0].From:f[0].To] != "hunter2hunter2" || in[f[2].From:f[2].To] != "s3cr3tpass" {
		t.Errorf("found %v", f)
	}
}

func TestBytes(t *testing.T) {
	clean := []byte("nothing to see")
	if got := redact.Bytes(clean); &got[0] != &clean[0] {
		t.Error("clean bytes were copied")
	}
	dirty := []byte("api_key=" + body(32, hexdigits) + "\xff")
	before := bytes.Clone(dirty)
	if got := redact.Bytes(dirty); string(got) != "api_key=[redacted:api-key]\xff" {
		t.Errorf("got %q", got)
	}
	if !bytes.Equal(before, dirty) {
		t.Error("input was written to")
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := redact.KindPrivateKey; k <= redact.KindAPIKey; k++ {
		b, err := k.MarshalText()
		if err != nil || len(b) == 0 || seen[string(b)] || strings.Contains(string(b), "(") {
			t.Errorf("kind %d: %q, %v", k, b, err)
		}
		seen[string(b)] = true
	}
	if got := redact.Kind(0).String(); got != "kind(0)" {
		t.Error(got)
	}
}
