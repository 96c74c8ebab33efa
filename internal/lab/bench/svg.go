package bench

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// canvas collects the text of a document.
type canvas struct{ strings.Builder }

// draw appends the format with arguments for its %v: texts are escaped, and
// coordinates have a tenth of a pixel.
func (c *canvas) draw(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			var b strings.Builder
			_ = xml.EscapeText(&b, []byte(a)) // a strings.Builder does not fail
			args[i] = b.String()
		case float64:
			args[i] = fmt.Sprintf("%.1f", a)
		}
	}
	fmt.Fprintf(c, format, args...)
}

// WriteSVG writes the chart as a complete document. It does not use text/template, which keeps the linker from removing
// unused exported methods in the whole program, an eighth of its size.
func (c Chart) WriteSVG(w io.Writer) error {
	var d canvas
	s, height := c.scale(), top+laneHeight*len(c.Lanes)+bottom
	d.draw(`<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="0 0 %v %v" role="img"`,
		width, height, width, height)
	d.draw(` font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13" fill="#1f2933">
<title>%v</title>
<rect width="%v" height="%v" fill="#ffffff"/>
<text x="20" y="30" font-size="18" font-weight="600">%v</text>
<text x="20" y="52" fill="#52606d">%v</text>
`, c.Title, width, height, c.Title, c.Subtitle)
	d.draw(`<text x="940" y="52" text-anchor="end" fill="#52606d"><tspan fill="#0b69a3">●</tspan>&#160;%v&#160;&#160;&#160;`+
		`<tspan fill="#0b69a3">○</tspan>&#160;%v&#160;&#160;&#160;<tspan fill="#ba2525">|</tspan>&#160;%v</text>`,
		cmp.Or(c.Solid, "clean run"), cmp.Or(c.Hollow, "disturbed run"), cmp.Or(c.Tick, "median"))
	for i := 0; i < len(c.Lanes); i += 2 {
		d.draw("\n"+`<rect x="0" y="%v" width="%v" height="%v" fill="#f5f7fa"/>`, laneTop(i), width, float64(laneHeight))
	}
	c.drawAxis(&d, s, float64(height-bottom))
	for i, l := range c.Lanes {
		l.draw(&d, s, laneTop(i))
	}
	if c.Source != "" {
		d.draw("\n"+`<text x="20" y="%v" font-size="11" fill="#52606d">%v</text>`, height-foot, c.Source)
	}
	d.draw("\n</svg>\n")
	_, err := io.WriteString(w, d.String())
	return err
}

func laneTop(i int) float64 { return float64(top + laneHeight*i) }

// drawAxis draws the axis at y, its grid, and the marks.
func (c Chart) drawAxis(d *canvas, s scale, y float64) {
	d.draw("\n" + `<g stroke="#cbd2d9" stroke-width="1">`)
	for _, v := range s.ticks {
		d.draw("\n"+`<line x1="%v" y1="76" x2="%v" y2="%v"/>`, s.x(v), s.x(v), y)
	}
	d.draw("\n"+`<line x1="%v" y1="%v" x2="%v" y2="%v" stroke="#616e7c"/>`, s.left, y, axisRight, y)
	d.draw("\n</g>\n"+`<g text-anchor="middle" fill="#52606d" transform="translate(0 %v)">`, y)
	for _, v := range s.ticks {
		d.draw("\n"+`<text x="%v" y="20">%v</text>`, s.x(v), strconv.FormatFloat(v, 'f', s.digits, 64))
	}
	d.draw("\n"+`<text x="%v" y="44" text-anchor="start">%v</text>`+"\n</g>", s.left, c.Axis)
	for _, m := range c.Marks {
		d.draw("\n"+`<line x1="%v" y1="76" x2="%v" y2="%v" stroke="#1f2933" stroke-width="1.5" stroke-dasharray="5 3"/>`,
			s.x(m.Value), s.x(m.Value), y)
		d.draw("\n"+`<text x="%v" y="71" font-size="11" text-anchor="middle">%v</text>`, s.x(m.Value), m.Name)
	}
}

// draw draws the lane below y.
func (l Lane) draw(d *canvas, s scale, y float64) {
	middle := y + laneHeight/2
	d.draw("\n<g>\n"+`<text x="%v" dx="-14" y="%v" dy="0.35em" text-anchor="end">%v</text>`, s.left, middle, l.Name)
	for n, dot := range l.Dots {
		fill := `fill="#0b69a3" fill-opacity="0.75"`
		if dot.Hollow {
			fill = `fill="#ffffff" stroke="#0b69a3" stroke-width="1.5"`
		}
		d.draw("\n"+`<circle cx="%v" cy="%v" r="4" `+fill+`><title>%v: %v</title></circle>`, s.x(dot.Value),
			middle+offset(n), cmp.Or(dot.Name, "run "+strconv.Itoa(n+1)),
			strconv.FormatFloat(dot.Value, 'f', s.digits+2, 64))
	}
	center, ok := median(l.Dots)
	if v := l.Interval; v != nil {
		center, ok = v.Center, true
		d.draw("\n"+`<line x1="%v" x2="%v" y1="%v" y2="%v" stroke="#ba2525" stroke-width="1.5"/>`, s.x(v.Low), s.x(v.High),
			middle, middle)
	}
	if ok {
		d.draw("\n"+`<line x1="%v" x2="%v" y1="%v" y2="%v" stroke="#ba2525" stroke-width="2.5"/>`, s.x(center), s.x(center),
			y+5, y+laneHeight-5)
	}
	d.draw("\n"+`<text x="%v" dx="14" y="%v" dy="0.35em" fill="#52606d">%v</text>`+"\n</g>", axisRight, middle, l.Note)
}
