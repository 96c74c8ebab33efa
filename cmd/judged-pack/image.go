package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// image is a distribution, with its compilers and interpreters, and judged on top of it.
type image struct {
	root, program, arch, version string
}

// descriptor refers to a blob, as the image format of OCI does.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"` // of a manifest
	Annotations map[string]string `json:"annotations,omitempty"`
}

// file is the name of the blob in the folder of the image.
func (d descriptor) file() string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

const (
	mediaType  = "application/vnd.oci.image."
	nobody     = 65532 // the user of fronts in deploy/compose and deploy/kubernetes
	programDir = "usr/bin"
	dataDir    = "var/lib/judged"
)

// write makes the folder of the image. Names of blobs are the digests of their content.
func (i image) write(into string) error {
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	l := layout(into)
	if err := os.MkdirAll(filepath.Join(into, "blobs", "sha256"), 0o755); err != nil {
		return err
	}
	root, err := os.Open(i.root)
	if err != nil {
		return err
	}
	defer root.Close()
	program, err := i.programLayer()
	if err != nil {
		return err
	}
	var layers []descriptor
	var contents []string
	for _, content := range []io.Reader{root, bytes.NewReader(program)} {
		layer, digest, err := l.putLayer(content)
		if err != nil {
			return err
		}
		layers, contents = append(layers, layer), append(contents, digest)
	}
	return l.finish(i, layers, contents)
}

// finish writes what refers to the layers: configuration, manifest, index.
func (l layout) finish(i image, layers []descriptor, contents []string) error {
	type object = map[string]any
	config, err := l.putJSON("config.v1+json", object{
		"architecture": i.arch, "os": "linux",
		"rootfs": object{"type": "layers", "diff_ids": contents},
		"config": object{
			"Entrypoint": []string{"/" + programDir + "/judged"}, "Cmd": []string{"serve"},
			"Env":    []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			"Labels": object{"org.opencontainers.image.title": "judged", "org.opencontainers.image.version": i.version},
		},
	})
	if err != nil {
		return err
	}
	manifest, err := l.putJSON("manifest.v1+json", object{"schemaVersion": 2, "mediaType": mediaType + "manifest.v1+json",
		"config": config, "layers": layers})
	if err != nil {
		return err
	}
	manifest.Platform = &platform{i.arch, "linux"}
	// The first name is for docker load, the second for podman load and skopeo.
	manifest.Annotations = map[string]string{"io.containerd.image.name": "docker.io/library/judged:" + i.version,
		"org.opencontainers.image.ref.name": "judged:" + i.version}
	if err := l.writeJSON("index.json", object{"schemaVersion": 2, "mediaType": mediaType + "index.v1+json",
		"manifests": []descriptor{manifest}}); err != nil {
		return err
	}
	if err := l.writeJSON("oci-layout", object{"imageLayoutVersion": "1.0.0"}); err != nil {
		return err
	}
	// Docker before 25 cannot load the image format of OCI, only its own, which can name the same blobs.
	var files []string
	for _, layer := range layers {
		files = append(files, layer.file())
	}
	return l.writeJSON("manifest.json", []object{{"Config": config.file(), "RepoTags": []string{"judged:" + i.version},
		"Layers": files}})
}

// programLayer returns a tar of judged and its data directory, without times.
func (i image) programLayer() ([]byte, error) {
	program, err := os.ReadFile(i.program)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, entry := range []struct {
		header  tar.Header
		content []byte
	}{
		{tar.Header{Typeflag: tar.TypeReg, Name: programDir + "/judged", Mode: 0o755, Size: int64(len(program))}, program},
		// A new volume gets the owner of the directory that it is mounted on.
		{tar.Header{Typeflag: tar.TypeDir, Name: dataDir + "/", Mode: 0o700, Uid: nobody, Gid: nobody}, nil},
	} {
		if err := w.WriteHeader(&entry.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(entry.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// layout is the folder of an image.
type layout string

// put stores a blob and returns its reference.
func (l layout) put(kind string, write func(io.Writer) error) (descriptor, error) {
	f, err := os.CreateTemp(string(l), "blob")
	if err != nil {
		return descriptor{}, err
	}
	defer f.Close()
	digest := sha256.New()
	if err := write(io.MultiWriter(f, digest)); err != nil {
		return descriptor{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return descriptor{}, err
	}
	if err := f.Chmod(0o644); err != nil {
		return descriptor{}, err
	}
	name := fmt.Sprintf("%x", digest.Sum(nil))
	return descriptor{MediaType: mediaType + kind, Digest: "sha256:" + name, Size: info.Size()},
		os.Rename(f.Name(), filepath.Join(string(l), "blobs", "sha256", name))
}

// putLayer stores a layer compressed, and returns the digest of its content, too.
func (l layout) putLayer(content io.Reader) (descriptor, string, error) {
	digest := sha256.New()
	layer, err := l.put("layer.v1.tar+gzip", func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.MultiWriter(z, digest), content); err != nil {
			return err
		}
		return z.Close()
	})
	return layer, fmt.Sprintf("sha256:%x", digest.Sum(nil)), err
}

func (l layout) putJSON(kind string, value any) (descriptor, error) {
	return l.put(kind, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) })
}

func (l layout) writeJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(l), name), text, 0o644)
}
