//go:build !linux && !darwin && !freebsd && !windows

package disk

import "errors"

func usage(string) (Usage, error) { return Usage{}, errors.ErrUnsupported }

func shared(string) string { return "" }
