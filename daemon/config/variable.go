package config

import "github.com/session-migrator/session-migrator/pipeline/pattern"

// keysElsewhere says where keys belong.
const keysElsewhere = "keys are never in this file: set it in the environment, and name the variable as api_key_env"

var variableForm = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// wrongVariable says that a key, or something else that isn't the name of a
// variable, stands where one belongs; what stands there is not said.
func wrongVariable(key, name string) string {
	var upper, lower, digits int
	for _, c := range []byte(name) {
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digits++
		}
	}
	// Names have two cases and some digits seldom, keys nearly always.
	random := len(name) >= 20 && digits >= 3 && lower > 0 && (upper > 0 || len(name) >= 32)
	if name == "" || variableForm().MatchString(name) && !random {
		return ""
	}
	return key + " is no name of an environment variable; " + keysElsewhere
}
