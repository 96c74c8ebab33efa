package doctor

import (
	"judged/internal/api"
)

// schema is the version of the JSON of a Report.
const schema = 1

// blocks reports whether this check keeps the host from being ready.
func blocks(c api.DoctorCheck, strict bool) bool {
	return c.Status == api.DoctorFail && (c.Severity == api.SeverityS1 || strict && c.Severity == api.SeverityS2)
}

// blocking counts what has to be fixed before the host is ready.
func blocking(r api.DoctorReport) int {
	n := 0
	for _, c := range r.Checks {
		if blocks(c, r.Strict) {
			n++
		}
	}
	return n
}
