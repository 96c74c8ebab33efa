package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden picture; look at it")

func sampleChart() Chart {
	return Chart{
		Title: `sieve <1> & "co"`, Subtitle: "4 runs of each", Axis: "CPU time, ms",
		Source: "host <judge-7>, isolation none, turbo off, seed 5, scale 0.1",
		Lanes: []Lane{
			{Name: "free", Note: "spread 12.5 ms (4.2 %)",
				Dots: []Dot{{Value: 300}, {Value: 297.5, Hollow: true}, {Value: 310}, {Value: 301.25}}},
			{Name: "slot", Note: "spread 0 s (0.0 %)", Dots: []Dot{{Value: 299}, {Value: 299}, {Value: 299}}},
			{Name: "left without runs"},
			{Name: "estimate", Dots: []Dot{{Value: 300}, {Value: 305}},
				Interval: &Interval{Low: 295, Center: 304, High: 312}},
			{Name: "named", Dots: []Dot{{Value: 302, Name: "test <1>"}}},
		},
		Marks: []Mark{{Value: 320, Name: "limit & more"}},
	}
}

func draw(t *testing.T, c Chart) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	got := draw(t, sampleChart())
	const path = "testdata/lanes.svg"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStandsAlone checks that the chart is valid XML and contains the name of the program, which may be any.
func TestStandsAlone(t *testing.T) {
	tests := map[string]Chart{
		"sample":  sampleChart(),
		"empty":   {},
		"no dots": {Title: "t", Lanes: []Lane{{Name: "a"}}},
		"one dot": {Title: "t", Lanes: []Lane{{Name: "a", Dots: []Dot{{Value: 1}}}}},
		"zero":    {Title: "t", Lanes: []Lane{{Name: "a", Dots: []Dot{{}, {}}}}},
		"control": {Title: "a\x00\x1b[31m\xff",
			Lanes: []Lane{{Name: strings.Repeat("é<", 500), Dots: []Dot{{Value: 1e-12}, {Value: 1e12}}}}},
		"far apart":  {Lanes: []Lane{{Dots: []Dot{{Value: -5}, {Value: 5e9}}}}},
		"close":      {Lanes: []Lane{{Dots: []Dot{{Value: 1e9}, {Value: 1e9 + 1e-3}}}}},
		"other dots": {Solid: "<right>", Hollow: "wrong & \"worse\""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			text := draw(t, c)
			d := xml.NewDecoder(strings.NewReader(text))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("no XML: %v\n%s", err, text)
				}
			}
			for _, bad := range []string{"NaN", "Inf", "no value"} {
				if strings.Contains(text, bad) {
					t.Errorf("the picture has %s in it\n%s", bad, text)
				}
			}
			if dots := strings.Count(text, "<circle"); dots != countDots(c) {
				t.Errorf("%d dots drawn of %d", dots, countDots(c))
			}
		})
	}
}

func countDots(c Chart) int {
	n := 0
	for _, l := range c.Lanes {
		n += len(l.Dots)
	}
	return n
}

func TestRoundScale(t *testing.T) {
	tests := []struct {
		low, high float64
		want      []float64
		digits    int
	}{
		{0, 7, []float64{0, 1, 2, 3, 4, 5, 6, 7}, 0},
		{297.5, 310, []float64{296, 298, 300, 302, 304, 306, 308, 310}, 0},
		{0.1, 0.24, []float64{0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, 0.24}, 2},
		{-3, 30, []float64{-5, 0, 5, 10, 15, 20, 25, 30}, 0},
		{99.9, 1000, []float64{0, 200, 400, 600, 800, 1000}, 0},
	}
	for _, tt := range tests {
		s := roundScale(tt.low, tt.high)
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
		if diff := cmp.Diff(tt.want, s.ticks, near); diff != "" || s.digits != tt.digits {
			t.Errorf("%g to %g: digits %d, want %d; -want +got\n%s", tt.low, tt.high, s.digits, tt.digits, diff)
		}
	}
}

func TestMedian(t *testing.T) {
	tests := map[string]struct {
		dots []Dot
		want float64
		ok   bool
	}{
		"none": {nil, 0, false},
		"one":  {[]Dot{{Value: 3}}, 3, true},
		"odd":  {[]Dot{{Value: 9}, {Value: 1}, {Value: 2}}, 2, true},
		"even": {[]Dot{{Value: 4}, {Value: 1}, {Value: 2}, {Value: 9}}, 3, true},
	}
	for name, tt := range tests {
		if got, ok := median(tt.dots); got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %g %t, want %g %t", name, got, ok, tt.want, tt.ok)
		}
	}
}
