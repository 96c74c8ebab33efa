package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"judged/internal/api"
)

// dmojFile contains the settings of a problem of the DMOJ judge. It has no limits, because DMOJ keeps them on its site.
const dmojFile = "init.yml"

// dmojProblem holds the keys of init.yml that affect judging.
type dmojProblem struct {
	p       *Package
	t       *tree
	archive string
	files   map[string]string // paths of the copies of the archive's files, by name
	points  float64           // of a case without points
	// validatorArgs are those of the validator of inputs, with {batch_no} and {case_no}; nil without one.
	validatorArgs []string
	binary        bool // test data is used unchanged
	cases         int  // so far
	batch         int  // so far
	// Pretests are counted apart: these are the numbers of their batches and cases.
	pretestBatches, pretestTests int
}

// readDMOJ reads a problem: its cases in order, in batches or single, with their files in an archive or next to
// init.yml.
func (p *Package) readDMOJ(t *tree) error {
	s, err := t.settings(dmojFile)
	if err != nil {
		return err
	}
	p.Format, p.TimeRule = DMOJ, TimeRule{Accepted: 2, Rejected: 1, Resolution: time.Second}
	p.Limits.Output = 24 << 20
	d := &dmojProblem{p: p, t: t, points: 1}
	for _, refused := range []struct{ key, instead string }{
		{"custom_judge", "graders in Python are not supported; use a checker or an interactor"},
		{"signature_grader", "adding code to submissions is not supported; put it into the submissions"},
		{"generator", "generating tests while judging is not supported; generate them, and list their files"},
	} {
		if s.has(refused.key) {
			return fmt.Errorf("%s: %s: %s", dmojFile, refused.key, refused.instead)
		}
	}
	if err := d.openArchive(s); err != nil {
		return err
	}
	s.decode("points", &d.points)
	s.decode("binary_data", &d.binary)
	s.size("output_limit_length", 1, &p.Limits.Output)
	names := s.mapping("file_io")
	names.decode("input", &p.InputFile)
	names.decode("output", &p.OutputFile)
	if err := names.close(p); err != nil {
		return err
	}
	if err := d.readProgramsOfJury(s); err != nil {
		return err
	}
	for _, key := range []string{"wall_time_factor", "symlinks"} {
		if s.has(key) {
			p.unsupported("%s", key)
			s.ignore(key)
		}
	}
	// Settings of the site, of output buffering, and hints for compilers.
	s.ignore("unbuffered", "output_prefix_length", "hints", "meta", "short_circuit")
	if err := d.readCases(s); err != nil {
		return err
	}
	if err := s.close(p); err != nil {
		return err
	}
	if !d.binary {
		if err := errors.Join(p.convertLines(t.ctx), d.terminateLines()); err != nil {
			return err
		}
	}
	d.findUnused()
	return nil
}

// openArchive unpacks the archive of test data, if there is one.
func (d *dmojProblem) openArchive(s *settings) error {
	if !s.decode("archive", &d.archive) {
		return s.err
	}
	if !d.t.has(d.archive) {
		return fmt.Errorf("%s: archive %q is missing", dmojFile, d.archive)
	}
	dir, err := os.MkdirTemp(d.p.temp, ".archive-")
	if err != nil {
		return err
	}
	if err := unpackTree(d.t.ctx, d.t.use(d.archive), dir); err != nil {
		return fmt.Errorf("unpack %q: %w", d.archive, err)
	}
	d.files = map[string]string{}
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("unpack %q: %q is a link; replace it with the file", d.archive, e.Name())
		}
		rel, err := filepath.Rel(dir, name)
		d.files[filepath.ToSlash(rel)] = name
		return err
	})
}

// file returns the path of a file of a test: next to init.yml, otherwise in the archive.
func (d *dmojProblem) file(what, name string) (string, error) {
	if name := path.Clean(name); d.t.has(name) {
		return d.t.use(name), nil
	}
	if file, ok := d.files[name]; ok {
		return file, nil
	}
	return "", fmt.Errorf("%s %q not found next to %s or in its archive", what, name, dmojFile)
}

// empty returns the path of an empty file. A case without "in" has an empty input, and a checker may need no output.
func (d *dmojProblem) empty() (string, error) {
	name := filepath.Join(d.p.temp, ".empty")
	return name, os.WriteFile(name, nil, 0o600)
}

// dmojCase is a case or a batch of cases.
type dmojCase struct {
	In           string     `yaml:"in"`
	Out          string     `yaml:"out"`
	Points       *float64   `yaml:"points"`
	Batched      []dmojCase `yaml:"batched"`
	Dependencies []int      `yaml:"dependencies"`
	// Others are keys that would change a case. They are not supported.
	Others map[string]yaml.Node `yaml:",inline"`
}

// ofCase are keys of a case that do not affect judging.
var ofCase = []string{"output_prefix_length", "short_circuit", "binary_data", "meta"}

// readCases reads the cases and creates the scheme: the points of all cases and batches are added, a batch gives its
// points for its worst case, and a failure of the first case or batch with 0 points ends the judging.
func (d *dmojProblem) readCases(s *settings) error {
	var pretests, cases []dmojCase
	s.decode("pretest_test_cases", &pretests)
	list := yaml.Node{}
	given := s.decode("test_cases", &list)
	if s.err != nil {
		return s.err
	}
	for i := range pretests {
		pretests[i].Points = new(float64)
	}
	if given && list.Kind == yaml.SequenceNode {
		if err := list.Decode(&cases); err != nil {
			return fmt.Errorf("%s: test_cases: %s", dmojFile, oneLine(err))
		}
	} else {
		var err error
		if cases, err = d.match(list); err != nil {
			return fmt.Errorf("%s: test_cases: %w", dmojFile, err)
		}
	}
	root := &api.Group{Aggregation: api.Sum, Verdict: api.ByScore, Continue: true}
	d.p.Scheme.Root, d.p.Scheme.Scoring = root, true
	into := root
	for i, c := range append(pretests, cases...) {
		if i == len(pretests) {
			d.pretestBatches, d.pretestTests = d.batch, len(d.p.Tests)
		}
		g, points, err := d.group(c)
		if err != nil {
			return fmt.Errorf("%s: case %d: %w", dmojFile, i+1, err)
		}
		into.Members = append(into.Members, api.Member{Group: g})
		if points == 0 && i+1 < len(pretests)+len(cases) {
			rest := &api.Group{Name: "after " + g.Name, Aggregation: api.Sum, Verdict: api.ByScore, Continue: true,
				RequirePass: []string{g.Name}}
			into.Members = append(into.Members, api.Member{Group: rest})
			into = rest
		}
	}
	return nil
}

// group creates the group of a batch, or of a single case.
func (d *dmojProblem) group(c dmojCase) (*api.Group, float64, error) {
	points := d.points
	if c.Points != nil {
		points = *c.Points
	}
	if !(points >= 0 && api.ValidPoints(points)) {
		return nil, 0, fmt.Errorf("points %v are not a number of at least 0", points)
	}
	g := &api.Group{Aggregation: api.Min, Verdict: api.ByScore, MaxScore: &points, PartPasses: true}
	if c.Batched == nil {
		if d.cases++; len(c.Dependencies) > 0 {
			d.p.find("%s: dependencies of case%d are not used; only batches have them", dmojFile, d.cases)
		}
		g.Name = "case" + strconv.Itoa(d.cases)
		return g, points, d.add(g, strconv.Itoa(d.cases), c, points)
	}
	d.batch++
	g.Name = "batch" + strconv.Itoa(d.batch)
	if len(c.Batched) == 0 {
		return nil, 0, errors.New("batched: no cases; list them, or remove the batch")
	}
	if c.In != "" || c.Out != "" || len(c.Others) > 0 {
		return nil, 0, errors.New("a batch may only have the keys batched, points and dependencies; " +
			"its cases have the files")
	}
	for _, n := range c.Dependencies {
		if n < 1 || n >= d.batch-d.pretestBatches {
			return nil, 0, fmt.Errorf("dependencies: no earlier batch has the number %d", n)
		}
		g.RequirePass = append(g.RequirePass, "batch"+strconv.Itoa(d.pretestBatches+n))
	}
	for i, one := range c.Batched {
		if one.Batched != nil {
			return nil, 0, errors.New("a batch cannot contain a batch")
		}
		if one.Points != nil || one.Dependencies != nil {
			d.p.find("%s: points and dependencies of cases of %s are not used; set those of the batch", dmojFile, g.Name)
		}
		if err := d.add(g, fmt.Sprintf("%s.%d", g.Name, i+1), one, points); err != nil {
			return nil, 0, fmt.Errorf("batched: case %d: %w", i+1, err)
		}
	}
	return g, points, nil
}

// add adds a test to a group.
func (d *dmojProblem) add(g *api.Group, name string, c dmojCase, points float64) error {
	for _, key := range slices.Sorted(maps.Keys(c.Others)) {
		if !slices.Contains(ofCase, key) {
			return fmt.Errorf("unsupported key %q in a case", key)
		}
		value, binary := c.Others[key], d.binary
		if err := value.Decode(&binary); key == "binary_data" && (err != nil || binary != d.binary) {
			d.p.unsupported("binary_data: %s of single cases; set it for all cases", value.Value)
		}
	}
	if len(d.p.Tests) == maxEntries {
		return fmt.Errorf("more than %d cases; use fewer", maxEntries)
	}
	if c.Out == "" && d.p.Interactor == nil && d.p.Checker.Program == nil {
		return errors.New("no output to compare with; name its file in out")
	}
	t := Test{Name: name}
	var err error
	if t.Input, err = d.file("input", c.In); c.In == "" {
		t.Input, err = d.empty()
	}
	if err == nil && (c.Out != "" || d.p.Interactor == nil) {
		if t.Answer, err = d.file("output", c.Out); c.Out == "" && d.p.Checker.Program != nil {
			t.Answer, err = d.empty()
		}
	}
	if err != nil {
		return err
	}
	if d.validatorArgs != nil {
		batch := 0
		if strings.HasPrefix(name, "batch") {
			batch = d.batch - d.pretestBatches
		}
		t.ValidatorArgs = map[string][]string{"": d.argsOf(batch, len(d.p.Tests)-d.pretestTests)}
	}
	d.p.Tests = append(d.p.Tests, t)
	g.Members = append(g.Members, api.Member{Test: name, Accept: points, MaxScore: &points})
	return nil
}

// The patterns that find cases among the files of an archive, by the numbers of a batch and a case, or only of a case.
// A name also contains .in or .out, or begins with in or out.
const dmojPattern = `^.*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$`

// match finds the cases among the files of the archive with two patterns.
func (d *dmojProblem) match(n yaml.Node) ([]dmojCase, error) {
	x := struct {
		Input  string    `yaml:"input_format"`
		Output string    `yaml:"output_format"`
		Points []float64 `yaml:"case_points"`

		Others map[string]yaml.Node `yaml:",inline"`
	}{}
	if n.Kind != 0 {
		if err := n.Decode(&x); err != nil {
			return nil, errors.New(oneLine(err))
		}
	}
	d.findKeys("test_cases", x.Others)
	if d.files == nil {
		return nil, errors.New("give a list of cases; patterns only match files of an archive")
	}
	found := map[dmojKey]*dmojCase{}
	for _, kind := range []struct{ pattern, begin string }{{x.Input, "in"}, {x.Output, "out"}} {
		pattern, err := regexp.Compile("(?i)^(?:" + cmp.Or(kind.pattern, dmojPattern) + ")")
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", kind.pattern, err)
		}
		for _, name := range slices.Sorted(maps.Keys(d.files)) {
			m := pattern.FindStringSubmatch(name)
			lower := strings.ToLower(name)
			named := kind.pattern != "" || strings.Contains(lower, "."+kind.begin) || strings.HasPrefix(lower, kind.begin)
			if m == nil || !named {
				continue
			}
			key, err := dmojKeyOf(pattern, m)
			if err != nil {
				return nil, fmt.Errorf("file %q: %w", name, err)
			}
			c := found[key]
			if c == nil {
				c = &dmojCase{}
				found[key] = c
			}
			if kind.begin == "in" {
				c.In = name
			} else {
				c.Out = name
			}
		}
	}
	return dmojCases(found, x.Points)
}

// dmojKey holds what names a case in its files. For a case without a batch, it is also what names its batch.
type dmojKey struct {
	batch, number dmojName
	batched       bool
}

// dmojName is a number, or another text.
type dmojName struct {
	text   string
	number int // if there is no text
}

// compare orders texts before numbers.
func (n dmojName) compare(m dmojName) int {
	switch {
	case n.text == "" && m.text != "":
		return 1
	case n.text != "" && m.text == "":
		return -1
	}
	return cmp.Or(strings.Compare(n.text, m.text), cmp.Compare(n.number, m.number))
}

func dmojNameOf(text string) dmojName {
	if number, err := strconv.Atoi(text); err == nil {
		return dmojName{number: number}
	}
	return dmojName{text: text}
}

func dmojKeyOf(pattern *regexp.Regexp, m []string) (k dmojKey, err error) {
	text := map[string]string{}
	for i, name := range pattern.SubexpNames() {
		text[name] = m[i]
	}
	if text["case"] == "" {
		return k, errors.New("the pattern must contain (?P<case>[0-9]+) and may contain (?P<batch>[0-9]+)")
	}
	k.number = dmojNameOf(text["case"])
	k.batch, k.batched = k.number, text["batch"] != ""
	if k.batched {
		k.batch = dmojNameOf(text["batch"])
	}
	return k, nil
}

// dmojCases sorts the cases that were found, and creates batches of those with a batch number.
func dmojCases(found map[dmojKey]*dmojCase, points []float64) ([]dmojCase, error) {
	for _, c := range found {
		if c.In == "" || c.Out == "" {
			return nil, fmt.Errorf("file %q is only the input or output of a case; add the other file", cmp.Or(c.In, c.Out))
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b dmojKey) int {
		return cmp.Or(a.batch.compare(b.batch), a.number.compare(b.number))
	})
	var cases []dmojCase
	var last dmojKey
	for i, k := range keys {
		first := i == 0 || k.batch != last.batch
		switch {
		case first && k.batched:
			cases = append(cases, dmojCase{Batched: []dmojCase{*found[k]}})
		case first:
			cases = append(cases, *found[k])
		case !k.batched || !last.batched:
			return nil, fmt.Errorf("a case and a batch have the same name, as in %q; rename one of them", found[k].In)
		default:
			b := &cases[len(cases)-1]
			b.Batched = append(b.Batched, *found[k])
		}
		last = k
	}
	if points != nil && len(points) != len(cases) {
		return nil, fmt.Errorf("case_points has %d numbers for %d cases and batches; give a number for each", len(points),
			len(cases))
	}
	for i := range points {
		cases[i].Points = &points[i]
	}
	return cases, nil
}

// terminateLines appends a line break to files of tests that do not end with one, like the DMOJ judge.
func (d *dmojProblem) terminateLines() error {
	for _, t := range d.p.Tests {
		for _, name := range []string{t.Input, t.Answer} {
			if name == "" {
				continue
			}
			if err := terminateLine(name); err != nil {
				return fmt.Errorf("end the last line of test %q: %w", t.Name, err)
			}
		}
	}
	return nil
}

func terminateLine(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	last, size := make([]byte, 1), int64(0)
	if size, err = f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			_, err = f.WriteAt([]byte("\n"), size)
		}
	}
	return errors.Join(err, f.Close())
}

// findUnused adds findings for files that belong to no case and no program, next to init.yml and in the archive.
func (d *dmojProblem) findUnused() {
	used := map[string]bool{}
	for _, t := range d.p.Tests {
		used[t.Input], used[t.Answer] = true, true
	}
	unused := slices.DeleteFunc(slices.Sorted(maps.Keys(d.files)), func(name string) bool { return used[d.files[name]] })
	if len(unused) > 0 {
		d.p.findFiles(d.archive, "not used", unused)
	}
	d.p.findUnused(d.t, "not used", isForPeople)
}
