package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/wire"
)

func (c *Client) fault(r Reason, status int, said string, err error) *Error {
	return &Error{Reason: r, Host: c.host, Model: c.e.Model, Status: status, Said: said, Err: err}
}

const (
	rawBytes = 2000 // of what an endpoint says are looked at
	echo     = 32   // bytes of the session, said back, give it away
)

// said is what an endpoint says, fit for logs; nothing if it says back anything
// of the session.
func (c *Client) said(text string, q Question) string {
	said := wire.Said(text, c.e.Key)
	for i := 0; i+echo <= len(said); i += echo / 4 {
		for _, m := range q.Messages {
			if m.Role != "system" && strings.Contains(m.Text, said[i:i+echo]) {
				return ""
			}
		}
	}
	return said
}

// sort makes one of our errors of what go-openai says.
func (c *Client) sort(err error, k *kept, q Question) *Error {
	// A RequestError first: it may wrap an APIError of which nothing could be read.
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return c.status(e.HTTPStatusCode, string(e.Body), "", k, q)
	}
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return c.status(e.HTTPStatusCode, e.Message, code(e.Code, e.Type), k, q)
	}
	transport, ok := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, wire.ErrLong):
		return c.fault(TooLong, 0, "", wire.ErrLong)
	case !ok: // it came, and can't be read
		return c.fault(NotAnAnswer, 0, "", nil)
	case errors.Is(err, wire.ErrMoved):
		return c.fault(Moved, 0, "", wire.ErrMoved)
	case errors.Is(err, wire.ErrOutside):
		return c.fault(Unreachable, 0, wire.ErrOutside.Error(), wire.ErrOutside)
	case errors.Is(err, context.DeadlineExceeded):
		return c.fault(Timeout, 0, c.wire.Plain(err).Error(), context.DeadlineExceeded)
	}
	return c.fault(Unreachable, 0, wire.Said(c.wire.Plain(transport.Err).Error(), c.e.Key), nil)
}

func code(codes any, kind string) string {
	if codes == nil {
		return kind
	}
	return fmt.Sprintf("%v %s", codes, kind)
}

// status sorts what came with an HTTP status that is no success.
func (c *Client) status(status int, text, code string, k *kept, q Question) *Error {
	e := c.fault(reasonOf(status, text, code), status, c.said(text, q), nil)
	e.raw = strings.ToLower(text[:min(len(text), rawBytes)])
	if e.Reason.passes() && k.header != nil {
		e.Wait = wire.RetryAfter(k.header, c.now())
	}
	return e
}

func reasonOf(status int, text, code string) Reason {
	low := strings.ToLower(text + " " + code)
	switch {
	case status == http.StatusPaymentRequired || noCredit().MatchString(low):
		return NoCredit
	case status < 500 && noKey().MatchString(low):
		return BadKey
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return Timeout
	case overflows(status, low):
		return Overflow
	case wire.Passes(status):
		return ServerError
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return BadKey
	case status == http.StatusNotFound && !formWords().MatchString(low), status == http.StatusBadRequest && noModel().MatchString(low):
		return NoSuchModel
	}
	return BadRequest
}

// Some say with 400 or 429 what others say with a status of its own.
var (
	noCredit = pattern.Lazy(`insufficient[_ ](quota|balance|credits?)|exceeded_current_quota|arrearage`)
	noKey    = pattern.Lazy(`invalid[_ ]api[_ ]key|api key not valid|incorrect api key`)
	noModel  = pattern.Lazy(`model[^.]{0,60}(not exist|not found|not_found)|(invalid|unknown) model`)
)

// long are the words by which endpoints say that a text is too long.
var long = pattern.Lazy(`context_length_exceeded|exceed_context_size|context (length|window|size)|maximum (model )?(context|input|prompt)|(prompt|input|request)( is|'s)? too (long|large)|range of input length|exceeds? the (available|model'?s?) (context|token)|reduce the length|too many (input )?tokens|n_ctx`)

func overflows(status int, low string) bool {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return long().MatchString(low)
	}
	return false
}

// empty is for a 200 without choices. Some put their error there.
func (c *Client) empty(k *kept, q Question) *Error {
	var body struct {
		Error *struct {
			Message string `json:"message"`
			Code    any    `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(k.body, &body) == nil && body.Error != nil {
		if n, err := strconv.Atoi(fmt.Sprint(body.Error.Code)); err == nil && n >= 400 && n < 600 {
			return c.status(n, body.Error.Message, "", k, q)
		}
		return c.fault(NoChoices, 0, c.said(body.Error.Message, q), nil)
	}
	return c.fault(NoChoices, 0, "", nil)
}

// answer gives the text of a choice, or why it is none.
func answer(ch openai.ChatCompletionChoice) (text string, r Reason, said string) {
	text = ch.Message.Content
	for _, p := range ch.Message.MultiContent {
		text += p.Text
	}
	switch {
	case ch.Message.Refusal != "" && strings.TrimSpace(text) == "":
		return "", Refusal, ch.Message.Refusal
	case ch.FinishReason == openai.FinishReasonContentFilter:
		return "", Refusal, "content_filter"
	case ch.FinishReason == openai.FinishReasonLength:
		return "", Truncated, ""
	case strings.TrimSpace(text) == "":
		return "", Blank, ""
	}
	return text, 0, ""
}

var (
	formWords  = pattern.Lazy(`response[_ ]?format|json[_ ]?(schema|object|mode)|structured[_ ]output|guided|grammar|schema`)
	limitWords = pattern.Lazy(`max_(completion_)?tokens`)
	unknown    = pattern.Lazy(`unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|not permitted|extra (inputs|fields)|use '?max_`)
	number     = pattern.Lazy(`\d{2,}`)
)

// adapt learns from a refusal what the server doesn't take of a question that
// was asked in manner m, and tells whether asking again differs.
func (c *Client) adapt(e *Error, m manner) bool {
	low := e.raw
	if e.Reason != BadRequest || low == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case limitWords().MatchString(low):
		if unknown().MatchString(low) && len(m.limits) > 1 {
			c.limits = m.limits[1:]
			return true
		}
		for _, n := range number().FindAllString(low, -1) { // "the valid range is [1, 8192]"
			if v, err := strconv.Atoi(n); err == nil && v >= 256 && (m.most == 0 || v < m.most) {
				c.most = v
				return true
			}
		}
		return false
	case strings.Contains(low, "temperature") && !m.warm:
		c.warm = true
		return true
	case formWords().MatchString(low) && len(m.forms) > 1:
		c.forms = m.forms[1:]
		return true
	}
	return false
}
