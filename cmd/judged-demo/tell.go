package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/service/render"
)

// writeTable writes a row for each sample, and below it the counted runs and their spread.
func writeTable(w io.Writer, items []*item) error {
	t := text.Table{Columns: []text.Column{{Head: "SAMPLE"}, {Head: "EXPECTED"}, {Head: "VERDICT"},
		{Head: "CPU TIME", Rank: 1}, {Head: "MEMORY", Rank: 2}, {Head: "RUNS", Rank: 3}}}
	for _, it := range items {
		r := it.report
		runs, timing := runsOf(r)
		t.Rows = append(t.Rows, text.Row{Notes: render.RunNotes(runs, timing), Cells: []string{it.sample.Name,
			string(it.sample.Want.Verdict), string(r.Verdict), render.Time(r.CPUTime), render.Bytes(r.MemoryPeak),
			render.Runs(runs)}})
	}
	_, err := io.WriteString(w, t.Format(text.ScreenOf(w)))
	return err
}

// runsOf returns the runs of all tests, and the timing of the slowest test.
func runsOf(r api.Report) (runs []api.Run, slowest *api.Timing) {
	for _, t := range r.Tests {
		runs = append(runs, t.Runs...)
		if t.Timing != nil && (slowest == nil || t.Timing.Median > slowest.Median) {
			slowest = t.Timing
		}
	}
	return runs, slowest
}

// writeDifferences writes what differs from the expected results, and reports whether anything does.
func writeDifferences(w io.Writer, items []*item) (wrong bool) {
	right := 0
	for _, it := range items {
		differences := it.sample.Want.Differences(it.report)
		if len(differences) == 0 {
			right++
			continue
		}
		fmt.Fprintf(w, "\nnot as expected: %s: %s\n", it.sample.Name, strings.Join(differences, "; "))
		_ = render.Report(w, it.report) // writing the table has succeeded
	}
	fmt.Fprintf(w, "\n%d of %d as expected\n", right, len(items))
	return right < len(items)
}

// saveReport writes a report into the folder of the judged binary and returns its path.
func saveReport(judged string, r api.Report) (string, error) {
	path := filepath.Join(filepath.Dir(judged), "demo-report.json")
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("save report: %w", err)
	}
	return path, nil
}

// shown lists the metrics that the demo prints. Of each it prints the largest series.
var shown = [...]string{"judged_runs_total", "judged_runs_disturbed_total", "judged_run_cpu_seconds_sum",
	"judged_sandbox_overhead_seconds_sum"}

// writeMetrics writes a selection of the daemon's metrics.
func writeMetrics(ctx context.Context, w io.Writer, url string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	defer res.Body.Close()
	largest, err := largestSeries(res.Body)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	fmt.Fprintf(w, "from %s, while the daemon was up:\n", url)
	for _, name := range shown {
		if largest[name] == "" {
			return fmt.Errorf("read metrics at %s: %s is not among them", url, name)
		}
		fmt.Fprintf(w, "  %s\n", largest[name])
	}
	return nil
}

// largestSeries returns, for each metric, the line with the highest value.
func largestSeries(r io.Reader) (map[string]string, error) {
	lines, values := map[string]string{}, map[string]float64{}
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		if space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		name, _, _ := strings.Cut(line[:space], "{")
		if lines[name] == "" || value > values[name] {
			lines[name], values[name] = line, value
		}
	}
	return lines, scanner.Err()
}
