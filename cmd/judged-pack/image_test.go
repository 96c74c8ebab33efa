package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImageLayout compares every document of an image with the image format of OCI 1.1, and its layers with what they
// were made from.
func TestImageLayout(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			into := filepath.Join(t.TempDir(), "image")
			base := tarOf(t, tar.Header{Name: "etc/os-release", Mode: 0o644, Typeflag: tar.TypeReg, Size: 3}, "sid")
			i := image{root: save(t, base), program: save(t, []byte("ELF of "+arch)), arch: arch, version: "v1.2.3"}
			if err := i.write(into); err != nil {
				t.Fatal(err)
			}
			b := blobs{t, into, map[string]bool{}}

			index := b.document("index.json")
			manifest := b.descriptor(index["manifests"].([]any)[0], "manifest.v1+json")
			layers := manifest["layers"].([]any)
			docker := []any{map[string]any{"Config": fileOf(manifest["config"]), "RepoTags": []any{"judged:v1.2.3"},
				"Layers": []any{fileOf(layers[0]), fileOf(layers[1])}}}
			config := b.descriptor(manifest["config"], "config.v1+json")
			var contents []any
			var entries [][]tar.Header
			for _, layer := range layers {
				content := b.layer(layer)
				contents = append(contents, fmt.Sprintf("sha256:%x", sha256.Sum256(content)))
				entries = append(entries, headers(t, content))
			}
			type object = map[string]any
			platform := object{"architecture": arch, "os": "linux"}
			for what, diff := range map[string]string{
				"index": cmp.Diff(object{"schemaVersion": 2.0, "mediaType": "application/vnd.oci.image.index.v1+json",
					"manifests": []any{object{"platform": platform, "annotations": object{
						"io.containerd.image.name":          "docker.io/library/judged:v1.2.3",
						"org.opencontainers.image.ref.name": "judged:v1.2.3"}}}}, index),
				"manifest": cmp.Diff(object{"schemaVersion": 2.0,
					"mediaType": "application/vnd.oci.image.manifest.v1+json", "config": object{},
					"layers": []any{object{}, object{}}}, manifest),
				"configuration": cmp.Diff(object{"architecture": arch, "os": "linux",
					"rootfs": object{"type": "layers", "diff_ids": contents},
					"config": object{"Entrypoint": []any{"/usr/bin/judged"}, "Cmd": []any{"serve"},
						"Env": []any{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
						"Labels": object{"org.opencontainers.image.title": "judged",
							"org.opencontainers.image.version": "v1.2.3"}}}, config),
				"manifest of Docker":    cmp.Diff(docker, b.list("manifest.json")),
				"version of the layout": cmp.Diff(object{"imageLayoutVersion": "1.0.0"}, b.document("oci-layout")),
				"layers": cmp.Diff([][]tar.Header{{{Name: "etc/os-release", Mode: 0o644, Typeflag: tar.TypeReg, Size: 3}},
					{{Name: "usr/bin/judged", Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len("ELF of " + arch))},
						{Name: "var/lib/judged/", Mode: 0o700, Typeflag: tar.TypeDir, Uid: 65532, Gid: 65532}}}, entries),
				"blobs": cmp.Diff(b.used, b.all()),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func save(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func tarOf(t *testing.T, header tar.Header, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&header)
	_, err2 := io.WriteString(w, content)
	if err := errors.Join(err, err2, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// headers returns the entries of a tar, without what its format adds.
func headers(t *testing.T, content []byte) (all []tar.Header) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.IsZero() && h.ModTime.Unix() != 0 {
			t.Errorf("%s has the time %s", h.Name, h.ModTime)
		}
		all = append(all, tar.Header{Name: h.Name, Mode: h.Mode, Typeflag: h.Typeflag, Size: h.Size, Uid: h.Uid, Gid: h.Gid})
	}
}

// blobs reads an image, and records the blobs that are referred to.
type blobs struct {
	t    *testing.T
	dir  string
	used map[string]bool
}

func (b blobs) read(name string) []byte {
	b.t.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

func (b blobs) document(name string) (v map[string]any) {
	b.t.Helper()
	if err := json.Unmarshal(b.read(name), &v); err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return v
}

func (b blobs) list(name string) (v []any) {
	b.t.Helper()
	if err := json.Unmarshal(b.read(name), &v); err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	return v
}

// fileOf returns the file of the blob that a reference names.
func fileOf(reference any) string {
	digest, _ := reference.(map[string]any)["digest"].(string)
	return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:")
}

// content checks a reference against its blob, and removes the members that it has checked.
func (b blobs) content(reference any, kind string) (name string) {
	b.t.Helper()
	r := reference.(map[string]any)
	digest, _ := r["digest"].(string)
	name = filepath.Join("blobs/sha256", digest[min(len(digest), len("sha256:")):])
	content := b.read(name)
	want := map[string]any{"mediaType": "application/vnd.oci.image." + kind, "size": float64(len(content)),
		"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(content))}
	for key, value := range want {
		if r[key] != value {
			b.t.Errorf("%s of a reference is %v, want %v", key, r[key], value)
		}
		delete(r, key)
	}
	b.used[name] = true
	return name
}

func (b blobs) descriptor(reference any, kind string) map[string]any {
	b.t.Helper()
	return b.document(b.content(reference, kind))
}

func (b blobs) layer(reference any) []byte {
	b.t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b.read(b.content(reference, "layer.v1.tar+gzip"))))
	if err != nil {
		b.t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

func (b blobs) all() map[string]bool {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.dir, "blobs/sha256/*"))
	if err != nil {
		b.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range found {
		name, err := filepath.Rel(b.dir, path)
		if err != nil {
			b.t.Fatal(err)
		}
		names[name] = true
	}
	return names
}
