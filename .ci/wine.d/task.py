"""Reads a dry run's JSON from stdin; fails unless its task is one that a user without rights can have."""
import json
import sys
import xml.etree.ElementTree as ET

text = next(s["text"] for s in json.load(sys.stdin)["steps"] if s["kind"] == "write")
task = ET.fromstring(text.lstrip("\ufeff").split("?>", 1)[1])
ns = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


def get(path):
    return task.findtext("/".join(ns + p for p in path.split("/")))


assert task.tag == ns + "Task", task.tag
assert get("Triggers/LogonTrigger/UserId"), "the trigger is for all users"
assert get("Principals/Principal/LogonType") == "InteractiveToken"
assert get("Principals/Principal/RunLevel") == "LeastPrivilege"
assert get("Settings/ExecutionTimeLimit") == "PT0S"
assert get("Settings/RestartOnFailure/Interval") == "PT1M"
assert get("Actions/Exec/Command").endswith("session-migrator.exe")
assert "--supervise" in get("Actions/Exec/Arguments")
