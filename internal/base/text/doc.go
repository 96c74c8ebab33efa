// Package text holds what several packages do with text that people read: lines
// of a given width, and names in natural order.
package text
