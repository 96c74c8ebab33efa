package httpapi

import (
	_ "embed"
	"fmt"
	"net/http"

	"judged/internal/base/config"
	"judged/internal/base/text"
)

// openAPI is the OpenAPI document with the limits of the default configuration.
//
//go:embed openapi.json
var openAPI []byte

// settingBound matches a limit in a schema that depends on a setting.
var settingBound = text.Pattern(`"(maximum|maxItems|maxProperties)": \d+(,\s*"x-setting": "([a-z._]+)")`)

// openAPIOf returns the document with the limits of a configuration, so that clients validate as this daemon does.
func openAPIOf(c config.Config) []byte {
	bounds := schemaBounds(c)
	return settingBound().ReplaceAllFunc(openAPI, func(match []byte) []byte {
		parts := settingBound().FindSubmatch(match)
		return fmt.Appendf(nil, `"%s": %d%s`, parts[1], bounds[string(parts[3])], parts[2])
	})
}

// schemaBounds returns the settings that limit a member of a job, in the unit of the member.
func schemaBounds(c config.Config) map[string]int64 {
	most := c.Limits.Max
	return map[string]int64{
		"limits.max.cpu_time":  most.CPUTime.Milliseconds(),
		"limits.max.wall_time": most.WallTime.Milliseconds(),
		"limits.max.memory":    int64(most.Memory),
		"limits.max.output":    int64(most.Output),
		"limits.max.head":      int64(most.Head),
		"limits.max.keep":      int64(most.Keep),
		"limits.max.collect":   int64(most.Collect),
		"limits.max.processes": int64(most.Processes),
		"limits.max.tests":     int64(most.Tests),
		"limits.max.files":     int64(most.Files),
		"limits.max.repeats":   int64(most.Repeats),
		"slots.width":          int64(c.Slots.Width),
	}
}

func (s *Server) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	s.write(w, http.StatusOK, s.document)
	return nil
}
