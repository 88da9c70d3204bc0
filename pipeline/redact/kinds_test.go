package redact_test

import (
	base64std "encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/redact"
	"github.com/session-migrator/session-migrator/pipeline/redact/redacttest"
)

// Every kind that a session may hold, of several makes, alone and amid text.
func TestEveryKindIsRedacted(t *testing.T) {
	kinds := len(redacttest.All(0))
	if kinds < 60 {
		t.Fatalf("%d kinds, want 60 or more", kinds)
	}
	const seeds = 12
	for seed := range uint64(seeds) {
		for _, s := range redacttest.All(seed) {
			leaks := redacttest.NewLeaks([]redacttest.Secret{s})
			if leaks.In(s.Text) == nil {
				t.Fatalf("%s: %q shows no secret: the test sees nothing", s.Name, s.Text)
			}
			for _, around := range []string{"%", "before\n%\nafter", "日本語 % 中文", "(%)", "> %", `{"cmd":"%"}`, "\\u003c%"} {
				if s.Block && strings.HasPrefix(around, "{") {
					continue
				}
				text := strings.Replace(around, "%", s.Text, 1)
				if strings.HasPrefix(around, `\u`) { // as JSON writers set it for the sake of HTML
					text = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(text)
				}
				got := redact.Text(text)
				if in := leaks.In(got); in != nil || !strings.Contains(got, "[redacted:"+s.Mark+"]") {
					t.Errorf("seed %d, %s in %s: %q became %q, which shows %v, want mark %s", seed, s.Name, around, s.Text, got, in, s.Mark)
				}
				if again := redact.Text(got); again != got {
					t.Errorf("%s: second pass changed %q to %q", s.Name, got, again)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	reliability.Figure(t, 17, "%d kinds of secrets, %d of each: all are replaced by their mark", kinds, seeds)
}

// Wherever a text that is redacted is cut, no part of a secret is left.
func TestNoCutAfterRedactingLeavesHalf(t *testing.T) {
	for _, s := range redacttest.All(7) {
		leaks := redacttest.NewLeaks([]redacttest.Secret{s})
		text := redact.Text(fmt.Sprintf("%s %s %s", strings.Repeat("a b ", 10), s.Text, strings.Repeat("c d ", 10)))
		for i := range text {
			if in := leaks.In(redact.Text(text[:i]) + "\n" + redact.Text(text[i:])); in != nil {
				t.Fatalf("%s cut at %d: %v", s.Name, i, in)
			}
		}
	}
}

// lookalikes come near to what the rules look for, and are none of it.
var lookalikes = []string{
	"restore-keys: cache-key-d41d8cd98f00b204e9800998ecf8427e",
	"LANG=en-us aws-region us-east-1 d41d8cd98f00b204e9800998ecf8427e-us-east",
	"docker run -p 8080:80 -p 127.0.0.1:5432:5432 postgres",
	"ssh -p 2222 dana@host && mkdir -p /srv/a && mysql -u root -p shop",
	"psql -h localhost -p 5432 -U dana; localhost:5432/shop",
	"dana@tcp(127.0.0.1:3306)/shop",
	"密码是必填项，请输入密码：长度至少 8 位",
	"密码字段改成 bcrypt，令牌过期时间为 3600 秒",
	"パスワードは8文字以上です",
	"SKU SK8 SKILL.md ASKED MTA NTLM ODBC path/to/patch pattern.go patent",
	"secret_key_rotation, secret_name: db, secret_id_accessor",
	"the password field is required; the token is expired; the secret is out",
	"name=\"password\" type=\"password\"",
	"Login\npassword field2 is empty",
	"the machine stopped\npassword reset2fa was asked for",
	"the machine learning password manager, a machine that needs login and password recovery",
	"the machine needs login name password protection, each machine has a login name password protection is off",
	"no more than the default login page password protection",
	"default login page password protection is off",
	"machine api.test login bob password ******** machine h login u password $PW",
	"login bob\npassword hidden\nthe login form and password recovery page",
	"basic_auth=True use_auth = false http_auth: required oauth=2 X_AUTH=oauth2client",
	"auth=requests.auth.HTTPBasicAuth no_auth=internal/auth2/handler_test.go _auth=module.exports",
	"_auth=useAuthenticationProvider2024",
	"skip_auth=testFile2Upload3 with_auth: 0af7651916cd43dd8448eb211c80319c, _auth=${NPM_AUTH}",
	"this._authToken=currentUserAuthenticationToken; _authToken: string; _authToken = null",
	"NPM_AUTH=your_npm_auth_token_here_123456 npm_config__auth=<base64>",
	"&sig=ed25519&alg=2 sig=ok sig=SIGTERM sig=0x7f3d2c000000",
	"const sig = await signTransactionWithHardwareWallet2(tx); func sig=verifySignatureOfTheReleaseArchive2026",
	"sig=d41d8cd98f00b204e9800998ecf8427e sig=0af7651916cd43dd8448eb211c80319c0af7651916cd43dd8448eb211c80319c",
	"log in with the password 'from the vault' please",
	"https://0af7651916cd43dd8448eb211c80319c.example.test/a@b",
	"https://docs.test/a?x=%22password%22%3A%22%22",
	"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURCVENDQWUyZ0F3SUJBZ0lJ",
	"eyJuYW1lIjoiZGVtbyIsInZlcnNpb24iOiIxLjIuMyIsInByaXZhdGUiOnRydWV9",
	"sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEudHMiXSwibmFtZXMiOltdfQ==",
	"\"auth\": \"required\", \"auth\": true, \"auth\": \"b2F1dGg=\"",
	"password: userPassword, token: nextToken, apiKey: config.apiKey, secret: string",
	"password: Option<String>, pub password: &str, password?: string",
	"X-Request-Id: 0af7651916cd43dd8448eb211c80319c",
	"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	"etag: W/\"5f2b-17a3c9d8e40\" integrity sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC",
	"h1:Fh3K1UvHxQmNPBPyjEwUbwVYqxQyjQxhmJ1WZ1fFzTk= h1:ukJfTF/6rtPPRCnwkur4qwRxa8vTRFBF0uk2lLoLwho=",
	"AWS_REGION=eu-central-1 AWS_PROFILE=default AWS_ACCOUNT_ID=123456789012",
	"1//0 is no division; f(x) = 1//0",
	"pat-na1-region; dp.pt.; hvs.; figd_; tskey-auth-",
}

func TestLookalikesAreLeftAlone(t *testing.T) {
	for _, s := range lookalikes {
		if got := redact.Text(s); got != s {
			t.Errorf("%q\nbecame %q", s, got)
		}
	}
}

// Data and identities are no secrets: hashes, UUIDs, pictures, integrity lines.
func TestDataIsLeftAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	picture := base64std.StdEncoding.EncodeToString(random(3 << 20))
	var lines strings.Builder
	lines.WriteString("data:image/png;base64," + picture[:1<<20] + "\n")
	for i := 1 << 20; i+76 < len(picture); i += 76 {
		lines.WriteString(picture[i:i+76] + "\n")
	}
	for range 20_000 {
		u := random(16)
		fmt.Fprintf(&lines, "%x-%x-%x-%x-%x\n", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
		fmt.Fprintf(&lines, "commit %x\nindex %x..%x 100644\n", random(20), random(4), random(4))
		fmt.Fprintf(&lines, "sha256:%x  file.bin\n", random(32))
		lines.WriteString("\"integrity\": \"sha512-" + base64std.StdEncoding.EncodeToString(random(64)) + "\",\n")
		lines.WriteString("go.mod h1:" + base64std.StdEncoding.EncodeToString(random(32)) + "\n")
	}
	text := lines.String()
	found := redact.Find(text)
	for i, f := range found {
		if i < 5 {
			t.Errorf("%v: %.60q", f.Kind, text[f.From:f.To])
		}
	}
	if got := redact.Text(text); got != text {
		t.Errorf("%d findings in %d bytes", len(found), len(text))
	}
}
