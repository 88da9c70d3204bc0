package redact

import "fmt"

// Kind says what a secret is; its name stands in the mark.
type Kind uint8

// The kinds. The zero value is none.
const (
	KindPrivateKey Kind = iota + 1
	KindAWSAccessKey
	KindAWSSecretKey
	KindGitHubToken
	KindGitLabToken
	KindOpenAIKey
	KindAnthropicKey
	KindSlackToken
	KindGoogleKey
	KindStripeKey
	KindNPMToken
	KindHuggingFaceToken
	KindWebToken // JWT
	KindURLPassword
	KindURLSignature
	KindBearerToken
	KindAuthorization
	KindCookie
	KindWebhook
	KindServiceToken // of services that have no kind of their own
	KindPassword
	KindSecret
	KindToken
	KindAPIKey
)

var kindNames = [...]string{
	KindPrivateKey:       "private-key",
	KindAWSAccessKey:     "aws-access-key",
	KindAWSSecretKey:     "aws-secret-key",
	KindGitHubToken:      "github-token",
	KindGitLabToken:      "gitlab-token",
	KindOpenAIKey:        "openai-key",
	KindAnthropicKey:     "anthropic-key",
	KindSlackToken:       "slack-token",
	KindGoogleKey:        "google-key",
	KindStripeKey:        "stripe-key",
	KindNPMToken:         "npm-token",
	KindHuggingFaceToken: "huggingface-token",
	KindWebToken:         "jwt",
	KindURLPassword:      "url-password",
	KindURLSignature:     "url-signature",
	KindBearerToken:      "bearer-token",
	KindAuthorization:    "authorization",
	KindCookie:           "cookie",
	KindWebhook:          "webhook",
	KindServiceToken:     "service-token",
	KindPassword:         "password",
	KindSecret:           "secret",
	KindToken:            "token",
	KindAPIKey:           "api-key",
}

// String returns the name used in marks and JSON.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
