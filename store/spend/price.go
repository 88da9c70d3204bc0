package spend

import (
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
)

// Price is what a model costs, in USD per million tokens.
type Price struct{ Input, Output float64 }

// Of is what tokens cost, in millionths of a USD, rounded up.
func (p Price) Of(input, output int64) int64 { return Cost(input, p.Input) + Cost(output, p.Output) }

// pricesFrom is when the table was last compared with what vendors publish.
const pricesFrom = "2026-11-01"

// PricesFrom is the date of the table.
func PricesFrom() string { return pricesFrom }

// snapshot is the date at the end of a model's name.
var snapshot = pattern.Lazy(`-(?:\d{4}-\d{2}-\d{2}|\d{8})$`)

// PriceOf gives the price that a model's own vendor published for it when the
// table was made, the higher one where it changes by the hour; false for models
// that aren't in it. Others who serve the model may ask for more: then the
// settings tell.
func PriceOf(model string) (Price, bool) {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	p, ok := prices()[snapshot().ReplaceAllString(name, "")]
	return p, ok
}

func prices() map[string]Price {
	return map[string]Price{
		"deepseek-flash": {0.30, 1.20}, "deepseek-v4-flash": {0.30, 1.20}, "deepseek-chat": {0.30, 1.20}, "deepseek-v4-pro": {1.32, 3.96},
		"gpt-4o": {2.50, 10}, "gpt-4o-mini": {0.15, 0.60}, "gpt-4.1": {2, 8}, "gpt-4.1-mini": {0.40, 1.60}, "gpt-4.1-nano": {0.10, 0.40},
		"gpt-5": {1.25, 10}, "gpt-5-mini": {0.25, 2}, "gpt-5-nano": {0.05, 0.40},
	}
}
