package doctor

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"judged/internal/api"

	"judged/internal/base/cpuset"
	"judged/internal/host/settings"
)

// values compares the files of the setting with the wanted values.
func (v *view) values() Outcome {
	o := Outcome{Status: api.DoctorPass}
	var names, found, wrong []string
	for _, value := range v.setting.Values {
		switch {
		case value.Wakes && v.daemon:
			return skip(value.Name() + " interrupts the CPU that it is read from; ask judged doctor between runs")
		case value.Wrong == settings.Ignored:
			continue
		}
		names = append(names, value.Name())
		files := v.group(value)
		for _, now := range slices.Sorted(maps.Keys(files)) {
			text := path.Base(value.Pattern) + " " + now
			if len(files) > 1 {
				text += " (" + where(value, files[now]) + ")"
			}
			found = append(found, text)
			wanted, reason := value.Wanted(&v.Host, files[now][0], now)
			if wanted == now && reason == "" {
				continue
			}
			if wanted != "" {
				text += ", want " + wanted
			}
			wrong = append(wrong, text)
			if o.Status != api.DoctorFail {
				o.Status = api.DoctorWarn
			}
			if value.Wrong == settings.Fails || slices.Contains(value.Worst, now) {
				o.Status = api.DoctorFail
			}
		}
	}
	if len(found) == 0 {
		return skip("no file " + strings.Join(names, " or "))
	}
	o.Found, o.Reason = strings.Join(found, "; "), strings.Join(wrong, "; ")
	return o
}

// group reads the files of a value and groups them by what they hold.
func (v *view) group(value settings.Value) map[string][]string {
	files := map[string][]string{}
	for _, file := range value.Files(&v.Host) {
		if strings.Contains(value.Pattern, "*") {
			v.saw(value.Name())
		} else {
			v.saw(file)
		}
		text, err := v.FS.Read(file)
		if settings.Absent(err) || err == nil && text == "" {
			continue
		}
		if err != nil {
			v.refuse(file, err)
			return nil
		}
		now, err := value.Kind.Meaning(text)
		if err != nil {
			o := unknown(text, "parse "+file+": "+err.Error())
			v.refused = &o
			return nil
		}
		files[now] = append(files[now], file)
	}
	return files
}

// where names some files of a pattern: by their CPUs, or by the part of the path that the pattern leaves open.
func where(value settings.Value, files []string) string {
	before, _, perCPU := strings.Cut(value.Pattern, "{cpu}")
	if !perCPU {
		before, _, _ = strings.Cut(value.Pattern, "*")
	}
	var cpus cpuset.Set
	var parts []string
	for _, file := range files {
		part := strings.TrimPrefix(file, before)
		parts = append(parts, part)
		number, _, _ := strings.Cut(part, "/")
		if id, err := strconv.Atoi(number); err == nil {
			cpus = cpus.Union(cpuset.New(id))
		}
	}
	if perCPU {
		return "CPU " + cpus.String()
	}
	return listed(parts)
}
