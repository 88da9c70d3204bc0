class SessionMigrator < Formula
  desc "Hand Codex sessions to any other model: exact counts, decisions, memory"
  homepage "https://github.com/session-migrator/session-migrator"
  version "{{.Version}}"
  license "MIT"

  on_macos do
    on_arm do
      url "{{.URL (.Archive "darwin_arm64" "tar.gz")}}"
      sha256 "{{.Sum (.Archive "darwin_arm64" "tar.gz")}}"
    end
    on_intel do
      url "{{.URL (.Archive "darwin_amd64" "tar.gz")}}"
      sha256 "{{.Sum (.Archive "darwin_amd64" "tar.gz")}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.URL (.Archive "linux_arm64" "tar.gz")}}"
      sha256 "{{.Sum (.Archive "linux_arm64" "tar.gz")}}"
    end
    on_intel do
      url "{{.URL (.Archive "linux_amd64" "tar.gz")}}"
      sha256 "{{.Sum (.Archive "linux_amd64" "tar.gz")}}"
    end
  end

  def install
    bin.install "session-migrator"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/session-migrator.bash" => "session-migrator"
    zsh_completion.install "completions/_session-migrator"
    fish_completion.install "completions/session-migrator.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/session-migrator version")
    assert_match "\"tokens\":2", pipe_output("#{bin}/session-migrator tokens --json", "hello world").delete(" ")
  end
end
