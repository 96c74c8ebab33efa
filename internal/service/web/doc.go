// Package web serves pages for people: what happens now, jobs, and why a verdict is what it is. The pages are complete
// without a script; a small one only reads them again when something has changed.
//
// Not here: authorization of tokens and limits of requests (httpapi), and the sentences that explain a report (render).
package web
