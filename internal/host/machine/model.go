package machine

import (
	"judged/internal/host/hostfs"
)

// model returns the name of the processor in /proc/cpuinfo: "model name" on x86, "cpu" on POWER, "Model" or
// "cpu model" on others. ARM has only numbers.
func model(cpuinfo string) string {
	for _, key := range []string{"model name", "cpu", "Model", "cpu model"} {
		if name := hostfs.CPUInfo(cpuinfo, key); name != "" {
			return name
		}
	}
	if part := hostfs.CPUInfo(cpuinfo, "CPU part"); part != "" {
		return "implementer " + hostfs.CPUInfo(cpuinfo, "CPU implementer") + " part " + part
	}
	return ""
}
