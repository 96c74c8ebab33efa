// Package text formats text for people: lines that fit a screen, tables, and names in natural order.
package text
