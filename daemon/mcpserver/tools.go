package mcpserver

// tools are all there are, in the order in which clients list them.
func tools() []*tool {
	return []*tool{
		listSessions(), searchSessions(), getMigrationDecision(), getSessionContext(), getOmittedOriginal(),
		modelContextWindow(), listKnownModels(), migrateSession(), migratorStatus(),
	}
}
