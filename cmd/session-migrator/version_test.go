package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsTheLinkersElseGos(t *testing.T) {
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	checkout := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}}
	for name, c := range map[string]struct {
		version, commit, date string
		info                  *debug.BuildInfo
		want                  versionJSON
	}{
		"a release":     {"v2.0.0", "abc", "2026-11-30T00:00:00Z", checkout, versionJSON{Version: "v2.0.0", Commit: "abc", Date: "2026-11-30T00:00:00Z"}},
		"make build":    {"v2.0.0-3-gabc", "", "", checkout, versionJSON{Version: "v2.0.0-3-gabc", Commit: "c0ffee", Date: "2026-01-02T03:04:05Z", Modified: true}},
		"go install":    {unknownVersion, "", "", installed, versionJSON{Version: "v1.2.3"}},
		"go build":      {unknownVersion, "", "", checkout, versionJSON{Version: unknownVersion, Commit: "c0ffee", Date: "2026-01-02T03:04:05Z", Modified: true}},
		"no build info": {unknownVersion, "", "", nil, versionJSON{Version: unknownVersion}},
	} {
		got := versionOf(c.version, c.commit, c.date, c.info)
		if got.SQLite == "" || got.Go == "" || got.OS == "" || got.Arch == "" {
			t.Errorf("%s: %+v lacks what it was built with", name, got)
		}
		c.want.Schema, c.want.Go, c.want.OS, c.want.Arch, c.want.SQLite, c.want.Driver = 1, got.Go, got.OS, got.Arch, got.SQLite, got.Driver
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
