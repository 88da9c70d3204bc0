package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a file of an archive.
type entry struct {
	name string // with slashes, below the archive's folder
	path string
	mode fs.FileMode // 0755 for programs, else 0644
}

// entries lists the files of a folder, sorted, whatever the umask was.
func entries(dir string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { //nolint:gosec // the folder is what we are called with
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if st.Mode()&0o100 != 0 {
			mode = 0o755
		}
		all = append(all, entry{filepath.ToSlash(rel), p, mode})
		return nil
	})
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all, err
}

// pack makes [1]: sorted names, the time of the commit, nobody's files.
func pack(o options, dir string) (err error) {
	all, err := entries(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	f, err := os.Create(o.out)
	if err != nil {
		return fmt.Errorf("create archive: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	switch {
	case strings.HasSuffix(o.out, ".tar.gz"):
		return packTar(o, f, all)
	case strings.HasSuffix(o.out, ".zip"), strings.HasSuffix(o.out, ".mcpb"):
		return packZip(o, f, all)
	}
	return fmt.Errorf("%s is not the name of a .tar.gz, .zip or .mcpb", o.out)
}

func packTar(o options, w io.Writer, all []entry) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, e := range all {
		st, err := os.Stat(e.path)
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(o.prefix, e.name), Size: st.Size(), Mode: int64(e.mode), ModTime: o.time(), Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("pack %s: %w", e.name, err)
		}
		if err := copyFile(t, e.path); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func packZip(o options, w io.Writer, all []entry) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, e := range all {
		h := &zip.FileHeader{Name: path.Join(o.prefix, e.name), Method: zip.Deflate, Modified: o.time()}
		h.SetMode(e.mode)
		to, err := z.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("pack %s: %w", e.name, err)
		}
		if err := copyFile(to, e.path); err != nil {
			return err
		}
	}
	return z.Close()
}

func copyFile(to io.Writer, from string) error {
	f, err := os.Open(from) //nolint:gosec // so is the file
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if _, err := io.Copy(to, f); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

func sumOf(file string) (string, error) {
	h := sha256.New()
	if err := copyFile(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeSums makes [5], in the form that sha256sum -c reads.
func writeSums(dir string) error {
	const name = "SHA256SUMS"
	all, err := entries(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	var b strings.Builder
	for _, e := range all {
		if e.name == name {
			continue
		}
		sum, err := sumOf(e.path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.name)
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644) //nolint:gosec // published
}
