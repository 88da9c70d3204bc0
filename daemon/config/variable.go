package config

import "regexp"

// keysElsewhere says where keys belong.
const keysElsewhere = "keys are never in this file: set it in the environment, and name the variable as api_key_env"

var (
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	upper        = regexp.MustCompile(`[A-Z]`)
	lower        = regexp.MustCompile(`[a-z]`)
	digits       = regexp.MustCompile(`[0-9].*[0-9].*[0-9]`)
)

// wrongVariable says that a key, or something else that isn't the name of a
// variable, stands where one belongs; what stands there is not said.
func wrongVariable(key, name string) string {
	// Names have two cases and some digits seldom, keys nearly always.
	random := len(name) >= 20 && digits.MatchString(name) && lower.MatchString(name) && (upper.MatchString(name) || len(name) >= 32)
	if name == "" || variableForm.MatchString(name) && !random {
		return ""
	}
	return key + " is no name of an environment variable; " + keysElsewhere
}
