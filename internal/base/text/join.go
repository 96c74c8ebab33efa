package text

import "strings"

// Join is strings.Join for words that have their own type, such as causes.
func Join[T ~string](words []T, separator string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, separator)
}
