// Package text wraps lines and sorts names in natural order.
package text
