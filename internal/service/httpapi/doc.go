// Package httpapi serves judged over HTTP: the routes, their authorization, submissions, reports and events.
// openapi.json is the reference for callers; tests compare it with the routes and with package api.
//
// Package intake validates jobs, package jobs stores them, and dispatch judges them. No token is ever logged.
package httpapi
