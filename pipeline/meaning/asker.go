package meaning

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/embed"
)

const (
	// AskFor is how long a question waits for its vector.
	AskFor = 1500 * time.Millisecond
	// askCalls is how often one process asks at most: what it asks is in nobody's
	// account, because only the daemon writes that.
	askCalls = 500
	// askRest is how long an endpoint that failed is left alone.
	askRest = time.Minute
	// questionMost is how much of a question counts, bytes.
	questionMost = 4000
	// remembered is how many questions' vectors are kept.
	remembered = 256
)

var (
	// ErrAsked means that the process has asked as often as it may.
	ErrAsked = errors.New("this process has asked for as many vectors as it may")
	// ErrRests means that the endpoint failed a moment ago.
	ErrRests = errors.New("the endpoint failed a moment ago")
)

// Embedder makes vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) (embed.Answer, error)
}

// Asker gets the vectors of questions. It is safe for concurrent use.
type Asker struct {
	from Embedder
	now  func() time.Time

	mu     sync.Mutex // guards the rest
	calls  int
	rests  time.Time // until then
	known  map[string][]float32
	oldest []string // of known, in the order asked
}

// NewAsker asks from.
func NewAsker(from Embedder) *Asker {
	return &Asker{from: from, now: time.Now, known: map[string][]float32{}}
}

// Question is a question as it may be sent: without secrets, and not too long.
func Question(text string) string { return clean(text, questionMost) }

// Vector gives the vector of a question, within AskFor. The question's secrets
// are taken out first. Nil for one that is empty. Errors: ErrAsked, ErrRests,
// and those of embed.
func (a *Asker) Vector(ctx context.Context, question string) ([]float32, error) {
	question = Question(question)
	if question == "" {
		return nil, nil
	}
	if v, err := a.before(question); v != nil || err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, AskFor)
	defer cancel()
	got, err := a.from.Embed(ctx, []string{question})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.rests = a.now().Add(askRest)
		return nil, fmt.Errorf("get the vector of the question: %w", err)
	}
	if _, ok := a.known[question]; !ok {
		a.oldest = append(a.oldest, question)
	}
	a.known[question] = got.Vectors[0]
	if len(a.oldest) > remembered {
		delete(a.known, a.oldest[0])
		a.oldest = a.oldest[1:]
	}
	return got.Vectors[0], nil
}

// before answers without asking, or counts the call.
func (a *Asker) before(question string) ([]float32, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v := a.known[question]; v != nil {
		return v, nil
	}
	if a.now().Before(a.rests) {
		return nil, ErrRests
	}
	if a.calls >= askCalls {
		return nil, ErrAsked
	}
	a.calls++
	return nil, nil
}
