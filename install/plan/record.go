package plan

import "fmt"

// Record notes a file that another program changed for us, such as a client by
// its own command, so that Undo brings back what it held before.
func (j Journal) Record(name string, f File, why string) error {
	rec, err := j.Load(name)
	if err != nil {
		return err
	}
	if f.Backup != "" && f.Before != nil {
		if err := keep(f.Backup, f.Before); err != nil {
			return fmt.Errorf("keep a copy of %s: %w", f.Path, err)
		}
	}
	at := rec.begin(Done{Step: Step{Why: why, File: &f}})
	rec.Steps[at].Finished = true
	return j.save(rec)
}

// Forget drops the receipt of a name: nothing of it is to be taken back.
func (j Journal) Forget(name string) error { return j.save(Receipt{Name: name}) }
