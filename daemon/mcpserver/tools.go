package mcpserver

// tools are all there are, in the order in which clients list them; saves adds
// the one that doesn't only read.
func tools(saves bool) []*tool {
	out := []*tool{
		listSessions(), searchSessions(), getMigrationDecision(), getSessionContext(), getOmittedOriginal(),
		modelContextWindow(), listKnownModels(), migrateSession(), migratorStatus(),
	}
	if saves {
		out = append(out, saveSessionSummary())
	}
	return out
}
