package render

import (
	"fmt"
	"strings"

	"judged/internal/api"
)

// instancesNote lists the CPU times of the instances that communicated with a manager, and how failed instances ended.
func instancesNote(instances []api.InstanceReport) string {
	var all []string
	for _, x := range instances {
		one := Time(&x.CPUTime)
		switch e := x.Exit; {
		case e == nil:
			one += " (did not end by itself)"
		case e.Signal != "":
			one += " (" + e.Signal + ")"
		case e.Code != nil && *e.Code != 0:
			one += fmt.Sprintf(" (exit status %d)", *e.Code)
		}
		all = append(all, one)
	}
	return "CPU time of the instances: " + strings.Join(all, ", ")
}
