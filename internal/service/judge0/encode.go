package judge0

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// lineLength is the length of a base64 line, the same as in Ruby.
const lineLength = 60

// encode returns base64 with a line break after every 60 characters and at the end.
func encode(text []byte) string {
	flat := base64.StdEncoding.EncodeToString(text)
	var lines strings.Builder
	for len(flat) > 0 {
		n := min(lineLength, len(flat))
		lines.WriteString(flat[:n])
		lines.WriteByte('\n')
		flat = flat[n:]
	}
	return lines.String()
}

// spaces removes the white space that base64 may contain.
var spaces = strings.NewReplacer("\n", "", "\r", "", " ", "", "\t", "")

// decode decodes base64 with or without line breaks and padding.
func decode(text string) ([]byte, error) {
	flat := strings.TrimRight(spaces.Replace(text), "=")
	content, err := base64.RawStdEncoding.DecodeString(flat)
	if err != nil {
		return nil, fmt.Errorf("is not base64: %w", err)
	}
	return content, nil
}
