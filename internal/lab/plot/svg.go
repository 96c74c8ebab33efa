package plot

import (
	"encoding/xml"
	"fmt"
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

// svg returns the document. It does not use text/template, which keeps the linker from removing unused exported methods
// in the whole program, an eighth of its size.
func (d drawing) svg() string {
	var c canvas
	c.draw(`<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="0 0 %v %v" role="img"`,
		d.Width, d.Height, d.Width, d.Height)
	c.draw(` font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13" fill="#1f2933">
<title>%v</title>
<rect width="%v" height="%v" fill="#ffffff"/>
<text x="20" y="30" font-size="18" font-weight="600">%v</text>
<text x="20" y="52" fill="#52606d">%v</text>
`, d.Title, d.Width, d.Height, d.Title, d.Subtitle)
	c.draw(`<text x="940" y="52" text-anchor="end" fill="#52606d"><tspan fill="#0b69a3">●</tspan>&#160;%v&#160;&#160;&#160;`+
		`<tspan fill="#0b69a3">○</tspan>&#160;%v&#160;&#160;&#160;<tspan fill="#ba2525">|</tspan>&#160;%v</text>`, d.Solid, d.Hollow, d.Tick)
	for _, l := range d.Lanes {
		if l.Striped {
			c.draw("\n"+`<rect x="0" y="%v" width="%v" height="%v" fill="#f5f7fa"/>`, l.Top, d.Width, l.Height)
		}
	}
	d.drawAxis(&c)
	for _, l := range d.Lanes {
		l.draw(&c, d)
	}
	if d.Source != "" {
		c.draw("\n"+`<text x="20" y="%v" font-size="11" fill="#52606d">%v</text>`, d.Foot, d.Source)
	}
	c.draw("\n</svg>\n")
	return c.String()
}

func (d drawing) drawAxis(c *canvas) {
	c.draw("\n" + `<g stroke="#cbd2d9" stroke-width="1">`)
	for _, m := range d.Grid {
		c.draw("\n"+`<line x1="%v" y1="76" x2="%v" y2="%v"/>`, m.X, m.X, d.AxisDown)
	}
	c.draw("\n"+`<line x1="%v" y1="%v" x2="%v" y2="%v" stroke="#616e7c"/>`, d.AxisLeft, d.AxisDown, d.AxisRight,
		d.AxisDown)
	c.draw("\n</g>\n"+`<g text-anchor="middle" fill="#52606d" transform="translate(0 %v)">`, d.AxisDown)
	for _, m := range d.Grid {
		c.draw("\n"+`<text x="%v" y="20">%v</text>`, m.X, m.Text)
	}
	c.draw("\n"+`<text x="%v" y="44" text-anchor="start">%v</text>`+"\n</g>", d.AxisLeft, d.Axis)
	for _, m := range d.Marks {
		c.draw("\n"+`<line x1="%v" y1="76" x2="%v" y2="%v" stroke="#1f2933" stroke-width="1.5" stroke-dasharray="5 3"/>`, m.X, m.X,
			d.AxisDown)
		c.draw("\n"+`<text x="%v" y="71" font-size="11" text-anchor="middle">%v</text>`, m.X, m.Text)
	}
}

func (l drawnLane) draw(c *canvas, d drawing) {
	c.draw("\n<g>\n"+`<text x="%v" dx="-14" y="%v" dy="0.35em" text-anchor="end">%v</text>`, d.AxisLeft, l.Middle, l.Name)
	for _, dot := range l.Dots {
		fill := `fill="#0b69a3" fill-opacity="0.75"`
		if dot.Hollow {
			fill = `fill="#ffffff" stroke="#0b69a3" stroke-width="1.5"`
		}
		c.draw("\n"+`<circle cx="%v" cy="%v" r="4" `+fill+`><title>%v</title></circle>`, dot.X, dot.Y, dot.Text)
	}
	if l.Bar != nil {
		c.draw("\n"+`<line x1="%v" x2="%v" y1="%v" y2="%v" stroke="#ba2525" stroke-width="1.5"/>`, l.Bar[0], l.Bar[1],
			l.Middle,
			l.Middle)
	}
	if l.Median != nil {
		c.draw("\n"+`<line x1="%v" x2="%v" y1="%v" y2="%v" stroke="#ba2525" stroke-width="2.5"/>`,
			l.Median.X, l.Median.X, l.MedianUp, l.MedianLow)
	}
	c.draw("\n"+`<text x="%v" dx="14" y="%v" dy="0.35em" fill="#52606d">%v</text>`+"\n</g>", d.AxisRight, l.Middle,
		l.Note)
}
