// Package text formats text for people: lines that fit a screen, tables, numbers with nouns, and names in natural order.
package text
