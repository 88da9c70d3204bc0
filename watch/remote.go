package watch

// remotes gives, by home, the kind of file system a listing found it on, where
// others than the programs of this machine may change it: such changes have no
// event. Empty for an ordinary one.
func (w *Watcher) remotes(res *listing) []string {
	kinds := make([]string, len(res.reals))
	for _, f := range res.folders {
		if f.depth <= 0 && kinds[f.home] == "" { // the home and its roots, which may be links
			kinds[f.home] = w.remote(f.path)
		}
	}
	return kinds
}
