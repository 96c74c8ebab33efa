// Package blobs holds files by the SHA-256 of their content in a folder: what
// a job needs is uploaded once and found again under the same name. A file is
// either whole and on disk, or not there. The time of its last change says when
// it was used last, and Sweep deletes what nobody has used for long.
//
// Several fronts share a folder, or a Bucket with copies in folders. A Cache has copies of
// what it fetches, for a front or a judge node.
//
// Who may upload and what a file is for is not its business.
package blobs
