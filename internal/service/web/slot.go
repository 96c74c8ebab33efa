package web

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/service/dispatch"
	"judged/internal/service/httpapi"
	"judged/internal/service/render"
	"judged/internal/timing/stats"
)

// slotPage is a slot with the history of its reference kernels.
type slotPage struct {
	slotView
	Charts []chartView
}

// chartView is the plot of one kernel: the deviation of each reading from the baseline, with the guard band as control
// limits. Coordinates are in the units of its view box, which is chartWidth by chartHeight.
type chartView struct {
	Kernel   string
	State    stats.State
	Shift    stats.Shift
	Baseline stats.Baseline
	Text     string // the same in words
	From, To time.Time
	Zero     float64
	Upper    float64
	Lower    float64
	Band     float64 // height of the guard band
	Points   []chartPoint
	Most     string // deviation at the upper end
}

type chartPoint struct {
	X, Y  float64
	Class string // within, beyond, disturbed
	Text  string
}

const (
	chartWidth  = 640.0
	chartHeight = 110.0
	chartMargin = 6.0
)

func (h *handler) slot(w http.ResponseWriter, r *http.Request) error {
	slots, cpus := h.desk.Slots(), r.PathValue("cpus")
	if !operator(r.Context()) {
		return concernsAll()
	}
	var all []api.SlotStatus
	if slots != nil {
		all = slots.Snapshot()
	}
	views, err := h.slotViews(r.Context(), all)
	if err != nil {
		return err
	}
	for _, v := range views {
		if v.CPUs != cpus {
			continue
		}
		p := slotPage{slotView: v}
		if h.o.Charts != nil {
			for _, c := range h.o.Charts(cpus) {
				p.Charts = append(p.Charts, viewChart(c))
			}
		}
		return h.show(w, r, http.StatusOK, page{Title: "Slot " + cpus, template: "slot.html", Live: true, Body: p})
	}
	return &httpapi.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "this host has no such slot",
		NextStep: "the page Now lists the slots"}
}

// viewChart places the readings of a kernel. Without a baseline it has no points.
func viewChart(c dispatch.Chart) chartView {
	v := chartView{Kernel: c.Kernel, State: c.State, Shift: c.Shift, Baseline: c.Baseline}
	if c.Baseline.Center <= 0 || len(c.Points) == 0 {
		v.Text = "no readings to compare with a baseline yet"
		return v
	}
	most, beyond := 1.5*c.Baseline.Guard, 0
	for _, p := range c.Points {
		most = max(most, math.Abs(c.Baseline.Deviation(p.CPUTime)))
	}
	y := func(deviation float64) float64 {
		return math.Round(10*(chartHeight/2-deviation/most*(chartHeight/2-chartMargin))) / 10
	}
	v.Zero, v.Upper, v.Lower = y(0), y(c.Baseline.Guard), y(-c.Baseline.Guard)
	v.Band, v.Most = v.Lower-v.Upper, render.Percent(most)
	v.From, v.To = c.Points[0].At, c.Points[len(c.Points)-1].At
	span := max(v.To.Sub(v.From).Seconds(), 1)
	for _, p := range c.Points {
		deviation := c.Baseline.Deviation(p.CPUTime)
		point := chartPoint{Y: y(deviation), Class: "within", Text: fmt.Sprintf("%s UTC: %s",
			p.At.UTC().Format("15:04:05"), render.Percent(deviation))}
		point.X = math.Round(10*(chartMargin+(chartWidth-2*chartMargin)*p.At.Sub(v.From).Seconds()/span)) / 10
		if c.Baseline.Beyond(p.CPUTime) != stats.NoShift {
			point.Class = "beyond"
			beyond++
		}
		if p.Disturbed {
			point.Class = "disturbed"
			point.Text += ", disturbed"
		}
		v.Points = append(v.Points, point)
	}
	v.Text = fmt.Sprintf("%s, %d beyond the control limits of %s around the baseline", text.Count(len(c.Points), "reading"),
		beyond, render.Percent(c.Baseline.Guard))
	return v
}
