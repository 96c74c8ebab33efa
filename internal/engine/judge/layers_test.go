package judge_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"judged/internal/api"
	"judged/internal/sandbox"
	"judged/internal/sandbox/initproc"
	"judged/internal/testkit"
	"judged/internal/testkit/attacks"
)

var (
	update     = flag.Bool("update", false, "rewrite the table of deploy/SECURITY.md")
	everyLayer = flag.Bool("every-layer", false, "TestLayers tries each attack without each layer")
)

// TestLayers runs every attack without one layer of the sandbox at a time: with -every-layer without each of them,
// otherwise without those that stop the attack and one more. The host must not be harmed. The table of SECURITY.md
// lists which attacks get through. It must be true for this kind of machine; differences on others are logged, because
// kernels differ in what they refuse.
func TestLayers(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	all, programs, _ := loadAttacks(t)
	_, table := readTable(t, all)
	outcomes := map[string]map[initproc.Layers]attacks.Outcome{}
	for width, list := range byWidth(all) {
		if slotFits(t, width) != nil {
			continue // TestAttacks reports this
		}
		for _, layer := range initproc.EachLayer() {
			tried := slices.DeleteFunc(slices.Clone(list), func(attack attacks.Attack) bool {
				// gets through the complete sandbox, or sometimes through the host's files
				return attack.Open || attack.OpenWithHost ||
					!*everyLayer && !*update && !isSample(attack.Name, layer, table)
			})
			if len(tried) == 0 {
				continue
			}
			safe := slices.DeleteFunc(slices.Clone(tried), func(attack attacks.Attack) bool {
				return initproc.Layers(attack.UnsafeWithout).Has(layer)
			})
			a := openArena(t, width, sandbox.RootPrivate, layer, sleepers(safe)...)
			for _, attack := range tried {
				if outcomes[attack.Name] == nil {
					outcomes[attack.Name] = map[initproc.Layers]attacks.Outcome{}
				}
				outcomes[attack.Name][layer] = a.outcome(t, attack, layer, programs)
			}
			a.close(t)
		}
	}
	for _, attack := range all {
		if m := outcomes[attack.Name]; m != nil {
			t.Logf("%s without%s", attack.Name, tellOutcomes(m))
		}
	}
	holdTable(t, all, outcomes)
}

// isSample reports whether a layer is tested: all layers that stop the attack according to the table, and one of the
// others.
func isSample(attack string, layer initproc.Layers, table attacks.Table) bool {
	layers := initproc.EachLayer()
	h := fnv.New32a()
	h.Write([]byte(attack))
	return strings.Contains(table.Needs[attack], layer.String()) || layers[h.Sum32()%uint32(len(layers))] == layer
}

func tellOutcomes(m map[initproc.Layers]attacks.Outcome) string {
	var b strings.Builder
	for _, l := range initproc.EachLayer() {
		fmt.Fprintf(&b, " %s: %s;", l, m[l])
	}
	return b.String()
}

// outcome runs an attack without a layer.
func (a *arena) outcome(t *testing.T, attack attacks.Attack, layer initproc.Layers,
	programs map[string]string) attacks.Outcome {
	t.Helper()
	if initproc.Layers(attack.UnsafeWithout).Has(layer) {
		return attacks.NotTried
	}
	reports := a.reports(t, attack, programs)
	after := a.host.look(t)
	if diff := a.host.changes(t, a.before, after, cmpopts.IgnoreTypes(Bounty{})); diff != "" {
		t.Errorf("%s without %s: the host is harmed (-before +after):\n%s", attack.Name, layer, diff)
		a.before = a.host.look(t)
	}
	got := outcomeOf(attack, reports)
	if loot := after.Bounty.beyond(a.before.Bounty); len(loot) > 0 {
		t.Logf("%s without %s got hold of %d things, such as %s", attack.Name, layer, len(loot), loot[0])
		got = attacks.Broke
		a.host.restore(t)
		after = a.host.look(t)
	}
	a.before.Bounty = after.Bounty
	return got
}

// beyond lists the entries of b that before lacks. Missing entries do not count, because the kernel collects keyrings
// asynchronously.
func (b Bounty) beyond(before Bounty) []string {
	old := slices.Concat(before.Files, before.IPC, before.Keyrings, before.Connections)
	loot := slices.Concat(b.Files, b.IPC, b.Keyrings, b.Connections)
	if b.Canary != before.Canary {
		loot = append(loot, b.Canary)
	}
	return slices.DeleteFunc(loot, func(s string) bool { return slices.Contains(old, s) })
}

// outcomeOf returns held if every run was stopped as expected, broke if one got through, and otherwise the verdict of a
// run that something else stopped.
func outcomeOf(attack attacks.Attack, reports []api.Report) attacks.Outcome {
	worst := attacks.Held
	for _, r := range reports {
		if r.Verdict == api.Accepted && !attack.Expects(api.Accepted) && !saysHeld(r) {
			return attacks.Broke // nothing stopped it
		}
		if r.Verdict != api.Accepted && !attack.Expects(r.Verdict) {
			worst = attacks.Outcome(r.Verdict)
		}
	}
	for _, r := range reports {
		if attacks.GotThrough(r) {
			return attacks.Broke
		}
	}
	return worst
}

func saysHeld(r api.Report) bool {
	head := r.Tests[0].StdoutHead
	return head != nil && strings.Contains("\n"+*head, "\nheld: ")
}

func tablePath(t *testing.T) string {
	return filepath.Join(testkit.RepoRoot(t), "deploy", "SECURITY.md")
}

func readTable(t *testing.T, all []attacks.Attack) (text string, table attacks.Table) {
	t.Helper()
	content, err := os.ReadFile(tablePath(t))
	if err != nil {
		t.Fatal(err)
	}
	if table, err = attacks.ReadTable(string(content), all); err != nil {
		t.Fatal(err)
	}
	return string(content), table
}

// holdTable compares the outcomes with SECURITY.md, or updates it.
func holdTable(t *testing.T, all []attacks.Attack, outcomes map[string]map[initproc.Layers]attacks.Outcome) {
	t.Helper()
	path := tablePath(t)
	text, want := readTable(t, all)
	got := attacks.Table{Machine: kindOfMachine(t), Needs: map[string]string{}}
	for _, a := range all {
		got.Needs[a.Name] = needs(a, outcomes[a.Name])
	}
	if *update {
		rewriteTable(t, path, text, got)
		return
	}
	// A machine with more CPUs may be able to try what this one cannot.
	for name, n := range got.Needs {
		if n == attacks.NeedsUnknown || want.Needs[name] == attacks.NeedsUnknown {
			delete(want.Needs, name)
			delete(got.Needs, name)
		}
	}
	diff := cmp.Diff(want.Needs, got.Needs)
	switch {
	case diff == "":
	case want.Machine == got.Machine:
		t.Errorf("%s is not what this machine shows; look whether a layer got weaker, then run with -update (-table "+
			"+measured):\n%s", path, diff)
	default:
		t.Logf("the table was measured on %s; on %s these differ:\n%s", want.Machine, got.Machine, diff)
	}
}

func needs(a attacks.Attack, outcomes map[initproc.Layers]attacks.Outcome) string {
	switch {
	case a.Open:
		return attacks.NeedsNothing
	case a.OpenWithHost:
		return attacks.NeedsHost
	case outcomes == nil:
		return attacks.NeedsUnknown
	}
	return attacks.Needs(outcomes)
}

// rewriteTable writes the measured outcomes and keeps those of other attacks.
func rewriteTable(t *testing.T, path, text string, measured attacks.Table) {
	t.Helper()
	every, err := attacks.Read(attacks.Folder(t))
	if err != nil {
		t.Fatal(err)
	}
	table, err := attacks.ReadTable(text, every)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range every {
		if table.Needs[a.Name] == "" {
			table.Needs[a.Name] = needs(a, nil)
		}
	}
	table.Machine = measured.Machine
	maps.Copy(table.Needs, measured.Needs)
	text, err = table.Write(text, every)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kindOfMachine returns the kind of machine that outcomes depend on.
func kindOfMachine(t *testing.T) string {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	release := strings.SplitN(unix.ByteSliceToString(u.Release[:]), ".", 3)
	version := "v1"
	if testkit.Has(testkit.CgroupV2) {
		version = "v2"
	}
	return fmt.Sprintf("Linux %s.%s, %s, cgroup %s", release[0], release[1], runtime.GOARCH, version)
}
