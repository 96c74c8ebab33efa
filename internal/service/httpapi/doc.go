// Package httpapi is judged over HTTP: the routes, who may use them, how a
// submission becomes a recorded job, and how everything is told again.
// openapi.json is the reference for callers; a test holds it against the routes
// and against package job.
//
// What happens to a job once it is in the queue is dispatch's, what a job must
// be is intake's. No token is ever logged.
package httpapi
