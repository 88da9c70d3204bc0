package rollout

import "github.com/session-migrator/session-migrator/pipeline/transcript"

// The kinds of lines that some version is known to write, with how much of
// such a line is needed. A new kind gets one row here; everything else is
// counted in Delta.Unknown. The tables are never written to.

var lineNeeds = map[string]Need{
	"session_meta":       NeedAll,
	"turn_context":       NeedAll,
	"token_usage_record": NeedAll,
	"compacted":          NeedHead, // message comes first, then the whole history again
	"world_state":        NeedNone,
	// bookkeeping between agents; what they say is a response item
	"inter_agent_communication_metadata": NeedNone,
	"inter_agent_communication":          NeedNone,
}

var itemNeeds = map[string]Need{
	"message":                 NeedAll,
	"reasoning":               NeedAll,
	"agent_message":           NeedAll,
	"function_call":           NeedAll,
	"function_call_output":    NeedAll,
	"custom_tool_call":        NeedAll,
	"custom_tool_call_output": NeedAll,
	"local_shell_call":        NeedAll,
	"local_shell_call_output": NeedAll,
	"web_search_call":         NeedAll,
	"tool_search_call":        NeedAll,
	"tool_search_output":      NeedAll,
	"image_generation_call":   NeedAll,
	"ghost_snapshot":          NeedNone,
	"compaction":              NeedNone,
	"context_compaction":      NeedNone,
	"compaction_trigger":      NeedNone,
	"additional_tools":        NeedNone,
	"configuration_update":    NeedNone,
	"other":                   NeedNone,
}

var eventNeeds = map[string]Need{
	"token_count":         NeedAll,
	"task_started":        NeedAll,
	"turn_started":        NeedAll,
	"task_complete":       NeedAll,
	"turn_complete":       NeedAll,
	"turn_aborted":        NeedAll,
	"thread_rolled_back":  NeedAll,
	"thread_name_updated": NeedAll,
	// repeat a response item, but where a foreign writer leaves that out they
	// are all there is of the person's words
	"user_message":  NeedHead,
	"agent_message": NeedHead,

	"item_completed":              NeedNone,
	"agent_reasoning":             NeedNone,
	"agent_reasoning_raw_content": NeedNone,
	"context_compacted":           NeedNone,
	"entered_review_mode":         NeedNone,
	"exited_review_mode":          NeedNone,
	"thread_settings_applied":     NeedNone,
	"thread_goal_updated":         NeedNone,
	"mcp_tool_call_end":           NeedNone,
	"web_search_end":              NeedNone,
	"patch_apply_end":             NeedNone,
	"exec_command_end":            NeedNone,
	"image_generation_end":        NeedNone,
	"undo_completed":              NeedNone,
	"sub_agent_activity":          NeedNone,

	// written for clients that asked for an extended history
	"error":                        NeedAll,
	"guardian_assessment":          NeedNone,
	"view_image_tool_call":         NeedNone,
	"collab_agent_spawn_end":       NeedNone,
	"collab_agent_interaction_end": NeedNone,
	"collab_waiting_end":           NeedNone,
	"collab_close_end":             NeedNone,
	"collab_resume_end":            NeedNone,
	"dynamic_tool_call_request":    NeedNone,
	"dynamic_tool_call_response":   NeedNone,
}

// completedItems are the kinds of items that item_completed events carry.
var completedItems = map[string]bool{
	"UserMessage": true, "AgentMessage": true, "Reasoning": true, "CommandExecution": true, "FileChange": true,
	"McpToolCall": true, "WebSearch": true, "ImageView": true, "CollabAgentToolCall": true, "SubAgentActivity": true,
	"ContextCompaction": true, "EnteredReviewMode": true, "ExitedReviewMode": true, "HookPrompt": true,
	"FunctionCallOutput": true, "Plan": true, "DynamicToolCall": true, "Sleep": true, "ImageGeneration": true,
}

// injectedKinds are the names that versions since 0.150 give to the parts of a
// message that no person wrote. Names that begin with one of injectedFamilies
// belong here, too.
var injectedKinds = map[string]bool{
	"agents_md.instructions": true, "environments.environment_context": true, "generic.turn_aborted": true,
	"compaction.summary": true, "shell.user_command": true, "goal.internal_context": true,
	"host_skills.instructions": true, "skills.instructions": true, "permissions.instructions": true,
	"tools.deferred_namespaces": true, "model.base_instructions": true, "model_switch.instructions": true,
	"collaboration_mode.instructions": true, "hooks.additional_context": true, "memories.instructions": true,
	"apps.instructions": true, "plugins.instructions": true, "persistent_mode.instructions": true,
	"images.resize_notice": true, "network_proxy.rule_saved": true,
}

var injectedFamilies = [...]string{"multi_agent.", "guardian.", "token_budget."}

// known gives a name without an allocation where it is in one of the tables.
func known(b []byte) string {
	switch string(b) {
	case "event_msg":
		return "event_msg"
	case "response_item":
		return "response_item"
	case "message":
		return "message"
	case "item_completed":
		return "item_completed"
	case "token_count":
		return "token_count"
	case "function_call":
		return "function_call"
	case "function_call_output":
		return "function_call_output"
	case "world_state":
		return "world_state"
	case "agent_message":
		return "agent_message"
	case "reasoning":
		return "reasoning"
	case "agent_reasoning":
		return "agent_reasoning"
	}
	return string(b)
}

// maxNames bounds how many unknown names one delta tells apart.
const maxNames = 64

// unknown counts a line or part of a line of a kind that is in no table.
func (p *Parser) unknown(kind, name string, at place, d *transcript.Delta) {
	if len(name) > 80 {
		name = preview(name, 80)
	}
	for i := range d.Unknown {
		if u := &d.Unknown[i]; u.Kind == kind && u.Name == name && u.Version == p.facts.CLIVersion {
			u.Count++
			return
		}
	}
	if len(d.Unknown) >= maxNames {
		name = "…"
		for i := range d.Unknown {
			if u := &d.Unknown[i]; u.Name == name && u.Kind == kind {
				u.Count++
				return
			}
		}
	}
	d.Unknown = append(d.Unknown, transcript.Unknown{Kind: kind, Name: name, Version: p.facts.CLIVersion, Count: 1, Line: at.line})
}
