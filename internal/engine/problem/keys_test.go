package problem

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/testkit"
)

// keyUse is a key in the settings of a package with an example value and its effect.
type keyUse struct{ file, key, value, does string }

const (
	problemFile   = "problem.yaml"
	testGroupFile = "of a group"
)

var keyUses = []keyUse{
	{problemFile, "name", "x", "name of the problem; of several languages, the English one"},
	{problemFile, "type", "scoring", "pass-fail, scoring, interactive, multi-pass and submit-answer, also together"},
	{problemFile, "validation", "default", "default, or custom with the words score, interactive and multi-pass"},
	{problemFile, "validator_flags", "case_sensitive", "arguments of the output validator"},
	{problemFile, "languages", "python3", "others are not judged"},
	{problemFile, "constants", "{n: 5}", "`{{n}}` is replaced in programs and settings"},
	{problemFile, "allow_file_writing", "true", "nothing: submissions may always write into their working directory"},
	{problemFile, "limits.time_limit", "1", "time limit, in seconds"},
	{problemFile, "limits.time_multiplier", "5", "factor from the slowest accepted submission to the limit"},
	{problemFile, "limits.time_safety_margin", "2", "factor from the limit to submissions that must be too slow"},
	{problemFile, "limits.time_multipliers", "{ac_to_time_limit: 2, time_limit_to_tle: 2}", "the same two factors"},
	{problemFile, "limits.time_resolution", "1", "an inferred limit is a multiple of it"},
	{problemFile, "limits.memory", "64", "memory limit, in MiB"},
	{problemFile, "limits.output", "8", "output limit, in MiB"},
	{problemFile, "limits.validation_passes", "2", "passes of a multi-pass problem"},
	{problemFile, "limits.code", "128", "nothing: the platform bounds sources"},
	{problemFile, "limits.compilation_time", "60", "nothing: compilers have the limits of their language"},
	{problemFile, "limits.compilation_memory", "2048", "nothing, as for compilation_time"},
	{problemFile, "limits.validation_time", "60", "nothing: programs of the jury have `limits.jury` of the configuration"},
	{problemFile, "limits.validation_memory", "2048", "nothing, as for validation_time"},
	{problemFile, "limits.validation_output", "8", "nothing, as for validation_time"},
	{problemFile, "grading", "{objective: max}", "more points are better; `min` is not supported"},
	{problemFile, "uuid", "x", "nothing, as for version, credits, source, license, rights_owner, embargo_until, keywords, " +
		"author and what DOMjudge shows"},
	{testGroupFile, "max_score", "30", "points of the group"},
	{testGroupFile, "score_aggregation", "sum", "pass-fail, sum or min"},
	{testGroupFile, "scoring", "{score: 30, aggregation: sum}", "the same in the draft of 2023-07"},
	{testGroupFile, "require_pass", "sample", "groups that must pass first"},
	{testGroupFile, "on_reject", "continue", "whether tests run after one that fails"},
	{testGroupFile, "accept_score", "5", "points of a test; in a package of DOMjudge those of the group"},
	{testGroupFile, "reject_score", "0", "points of a test that fails"},
	{testGroupFile, "range", "0 30", "its end is the maximum of the group"},
	{testGroupFile, "grader_flags", "sum", "flags of the default grader"},
	{testGroupFile, "grading", "default", "`custom` runs the program in `graders/`"},
	{testGroupFile, "output_validator_flags", "case_sensitive", "arguments of the output validator"},
	{testGroupFile, "input_validator_flags", "x", "arguments of input validators"},
	{testGroupFile, "output_validator_args", "[case_sensitive]", "arguments of the output validator"},
	{testGroupFile, "input_validator_args", "[x]", "arguments of input validators"},
	{testGroupFile, "args", "[x]", "arguments of submissions"},
	{testGroupFile, "full_feedback", "true", "nothing: the platform decides what contestants see"},
	{testGroupFile, "description", "x", "nothing: it is for people"},
	{testGroupFile, "static_validation", "{args: x}", "nothing: there is no static validation"},
}

// otherKeyUses are keys of the formats that have no versions.
var otherKeyUses = []keyUse{
	{cmsFile, "name", "x", "names the official solution"},
	{cmsFile, "title", "x", "name of the problem"},
	{cmsFile, "time_limit", "1", "time limit, in seconds; also `timeout`"},
	{cmsFile, "memory_limit", "64", "memory limit, in MiB; also `memlimit`"},
	{cmsFile, "infile", "a.txt", "file that submissions read; `\"\"` is stdin"},
	{cmsFile, "outfile", "b.txt", "file that submissions write; `\"\"` is stdout"},
	{cmsFile, "n_input", "1", "number of tests"},
	{cmsFile, "total_value", "100", "points of all tests, without subtasks"},
	{cmsFile, "score_type", "Sum", "Sum or GroupMin, with `score_type_parameters`; GroupMul is a finding"},
	{cmsFile, "num_processes", "1", "instances of a submission that a manager talks with"},
	{cmsFile, "user_io", "std_io", "std_io; `fifo_io` is a finding"},
	{cmsFile, "output_only", "false", "`true` is refused"},
	{cmsFile, "output_only_testcases", "'0'", "nothing: submissions are programs"},
	{cmsFile, "score_precision", "0", "nothing, as for score_mode, feedback_level, public_testcases, primary_language, " +
		"token_*, min_* and max_*"},
	{dmojFile, "archive", "data.zip", "archive with the files of tests"},
	{dmojFile, "points", "2", "points of a case that has none"},
	{dmojFile, "pretest_test_cases", "[]", "cases before the others, without points"},
	{dmojFile, "checker", "floats", "see Problems of DMOJ"},
	{dmojFile, "interactive", "{files: x.py, type: testlib}", "interactor, of type default, testlib or coci"},
	{dmojFile, "validator", "{source: x.py}", "validator of inputs, of type default or testlib"},
	{dmojFile, "file_io", "{input: a.txt}", "files that submissions read and write"},
	{dmojFile, "output_limit_length", "1024", "output limit, in bytes"},
	{dmojFile, "binary_data", "true", "line ends of tests stay as they are"},
	{dmojFile, "wall_time_factor", "2", "nothing: wall time follows from the time limit"},
	{dmojFile, "symlinks", "{}", "nothing"},
	{dmojFile, "unbuffered", "true", "nothing, as for output_prefix_length, hints, meta and short_circuit"},
	{sinolFile, "title", "x", "name of the problem"},
	{sinolFile, "sinol_task_id", "x", "with which names of files begin; else that of the tests"},
	{sinolFile, "time_limit", "1000", "time limit, in milliseconds"},
	{sinolFile, "time_limits", "{1: 2000}", "the same for groups and tests"},
	{sinolFile, "memory_limit", "65536", "memory limit, in KiB"},
	{sinolFile, "memory_limits", "{1: 65536}", "the same for groups and tests"},
	{sinolFile, "override_limits", "{}", "factors of the limits of languages, where groups have no limits of theirs"},
	{sinolFile, "scores", "{1: 100}", "points of groups; else they have equal ones"},
	{sinolFile, "subtask_dependencies", "{}", "groups that must pass first"},
	{sinolFile, "extra_compilation_files", "[]", "files that submissions are compiled with"},
	{sinolFile, "extra_compilation_args", "{}", "sources that submissions are compiled with; options are a finding"},
	{sinolFile, "extra_execution_files", "{}", "nothing: submissions do not see them"},
	{sinolFile, "fake_time", "zero", "nothing: programs see the time of the host"},
	{sinolFile, "sinol_contest_type", "oij", "default, oij or icpc, which has no points; with `oi` points do not depend " +
		"on times, which is a finding"},
	{sinolFile, "sinol_expected_scores", "{}", "points that solutions must get"},
	{sinolFile, "sinol_total_score", "100", "another sum of the scores is a finding"},
	{sinolFile, "sinol_latex_compiler", "pdflatex", "nothing, as for title_*, sinol_static_tests and sinol_undocumented_*"},
}

// small are small packages by the files of their settings.
func small(t *testing.T, file string) pack {
	switch file {
	case cmsFile:
		return pack{cmsFile: "n_input: 1\n", "input/input0.txt": "", "output/output0.txt": ""}
	case dmojFile:
		return pack{dmojFile: "test_cases: [{in: 1.in, out: 1.out}]\n", "1.in": "", "1.out": "",
			"x.py": ""}.archived(t, pack{})
	}
	return pack{sinolFile: "", "in/x1.in": "", "out/x1.out": "", "prog/x.py": ""}
}

// usedInOther says whether a package with the key is read without a finding about it.
func (u keyUse) usedInOther(t *testing.T) string {
	t.Helper()
	p := small(t, u.file)
	text := u.key + ": " + u.value + "\n"
	if !strings.HasPrefix(p[u.file], u.key+":") {
		text = p[u.file] + text
	}
	p[u.file] = text
	if u.key == "score_type" {
		p[u.file] += "score_type_parameters: 100\n"
	}
	pkg, err := openTest(t, p.folder(t))
	if err != nil {
		t.Fatalf("%s: %s: %v", u.file, u.key, err)
	}
	defer pkg.Close()
	named := regexp.MustCompile(`(^|[^a-z_])` + u.key + `([^a-z_]|$)`)
	if slices.ContainsFunc(pkg.Findings, named.MatchString) {
		return "no"
	}
	return "yes"
}

// usedIn returns how a package of a version with the key is read.
func (u keyUse) usedIn(t *testing.T, version string) string {
	t.Helper()
	line := u.key + ": " + u.value + "\n"
	if outer, inner, nested := strings.Cut(u.key, "."); nested {
		line = outer + ": {" + inner + ": " + u.value + "}\n"
	}
	settings, group := "problem_format_version: "+version+"\n", "test_group.yaml"
	if version == "legacy" {
		group = "testdata.yaml"
	}
	p := pack{"data/sample/1.in": "", "data/sample/1.ans": "", "data/secret/a/1.in": "", "data/secret/a/1.ans": "",
		"data/secret/b/1.in": "", "data/secret/b/1.ans": "", "input_validators/v.py": "", "submissions/accepted/x.py": ""}
	switch u.key {
	case "type":
	case "limits.validation_passes":
		settings += "type: [scoring, multi-pass]\n"
		p["output_validator/v.py"] = ""
	default:
		settings += "type: scoring\n"
	}
	if u.key != "name" {
		settings += "name: x\n"
	}
	points := map[string]string{"legacy": "accept_score: 1\n", "2023-07": "scoring: {score: 10}\n",
		"2025-09": "max_score: 10\n"}
	if u.file == problemFile {
		settings += line
		line = ""
	}
	p["problem.yaml"], p["data/secret/a/"+group], p["data/secret/b/"+group] = settings, line, points[version]
	pkg, err := openTest(t, p.folder(t))
	if err != nil {
		t.Fatalf("%s, %s: %v", u.key, version, err)
	}
	defer pkg.Close()
	key := u.key[strings.LastIndexByte(u.key, '.')+1:]
	named := regexp.MustCompile(`(^|[^a-z_])` + key + `([^a-z_]|$)`)
	use := "yes"
	for _, f := range pkg.Findings {
		switch {
		case !named.MatchString(f):
		case !strings.Contains(f, "judged uses it if possible"):
			return "no"
		default:
			use = "with a finding"
		}
	}
	return use
}

// TestKeys checks the table of keys in PROBLEMS.md: how each version reads each key, and that unused keys are findings.
func TestKeys(t *testing.T) {
	versions := []string{"legacy", "2023-07", "2025-09"}
	var b strings.Builder
	b.WriteString("| File | Key | legacy | 2023-07 | 2025-09 | What judged does |\n|---|---|---|---|---|---|\n")
	for _, u := range keyUses {
		cells := []string{u.file, "`" + u.key + "`"}
		for _, v := range versions {
			cells = append(cells, u.usedIn(t, v))
		}
		b.WriteString("| " + strings.Join(append(cells, u.does), " | ") + " |\n")
	}
	for _, lists := range []map[api.ProblemFormat][]string{otherKeys, otherLimits, otherGroupKeys} {
		for key := range maps.Values(lists) {
			for _, k := range key {
				if !strings.Contains(b.String(), k+"`") && !strings.HasPrefix(k, "static_") {
					t.Errorf("the table has no row for %q", k)
				}
			}
		}
	}
	b.WriteString("\nThe keys of other formats:\n\n| File | Key | Used | What judged does |\n|---|---|---|---|\n")
	for _, u := range otherKeyUses {
		b.WriteString("| " + strings.Join([]string{u.file, "`" + u.key + "`", u.usedInOther(t), u.does}, " | ") + " |\n")
	}
	text, err := os.ReadFile(filepath.Join(testkit.RepoRoot(t), "deploy/PROBLEMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Keys\n")
	table, _, _ = strings.Cut(table, "\n## ")
	if i := strings.Index(table, "| File"); i >= 0 {
		table = table[i:]
	}
	if diff := cmp.Diff(b.String(), table); diff != "" {
		t.Errorf("table of PROBLEMS.md, section Keys (-want +got)\n%s\nwant\n%s", diff, b.String())
	}
}
