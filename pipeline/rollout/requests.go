package rollout

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// request is a person's message on the current branch.
type request struct {
	seq    int64
	starts bool // a turn, rather than steering one
}

// requests are the persons' messages on the current branch, oldest first: what
// a rollback counts. In JSON they are a short string, as they are stored with
// every commit.
type requests []request

// maxRequests bounds what is kept; nobody rolls back further.
const maxRequests = 1 << 14

func (q *requests) push(r request) {
	if len(*q) >= maxRequests {
		*q = append((*q)[:0], (*q)[len(*q)-maxRequests/2:]...)
	}
	*q = append(*q, r)
}

// MarshalJSON writes the distances between the numbers as varints.
func (q requests) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2*len(q))
	var last int64
	for _, r := range q {
		n := uint64(r.seq-last) << 1
		if r.starts {
			n |= 1
		}
		b = binary.AppendUvarint(b, n)
		last = r.seq
	}
	return json.Marshal(base64.RawStdEncoding.EncodeToString(b))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (q *requests) UnmarshalJSON(j []byte) error {
	var s string
	if err := json.Unmarshal(j, &s); err != nil {
		return err
	}
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	*q = nil
	var last int64
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return errors.New("read requests: cut off")
		}
		last += int64(n >> 1)
		*q = append(*q, request{last, n&1 == 1})
		b = b[size:]
	}
	return nil
}
