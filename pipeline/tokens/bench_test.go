package tokens_test

import (
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
)

// message is the size the corpora are cut to: what one item of a thread has.
const message = 4 << 10

// corpora returns texts of three kinds in messages: Go source, the prose of
// its comments, and Chinese made up from common words.
func corpora(tb testing.TB) map[string][][]byte {
	tb.Helper()
	var code, prose strings.Builder
	for _, dir := range []string{"net/http", "go/types", "runtime", "encoding/json", "cmd/compile/internal/ssa"} {
		files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", dir, "*.go"))
		if err != nil {
			tb.Fatal(err)
		}
		for _, name := range files[:min(len(files), 40)] {
			text, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			code.Write(text[:min(len(text), 64<<10)])
			for line := range strings.Lines(string(text)) {
				if words, ok := strings.CutPrefix(strings.TrimSpace(line), "// "); ok {
					prose.WriteString(words)
					prose.WriteByte('\n')
				}
			}
		}
	}
	if code.Len() == 0 {
		tb.Skip("no Go source here to count")
	}
	return map[string][][]byte{
		"code":  messages(code.String()),
		"prose": messages(prose.String()),
		"cjk":   messages(chinese(rand.New(rand.NewPCG(1, 2)), 2<<20)),
	}
}

func messages(text string) [][]byte {
	var all [][]byte
	for len(text) > message {
		n := message
		for !utf8.RuneStart(text[n]) {
			n--
		}
		all = append(all, []byte(text[:n]))
		text = text[n:]
	}
	return append(all, []byte(text))
}

const chineseWords = `的 一 是 在 不 了 有 和 人 这 中 大 为 上 个 国 我 以 要 他 时 来 用 们 生 到 作 地 于 出 就 分 对 成 会 可 主 发 年 动 同 工 也 能 下 过 子 说 产 种 面 而 方 后 多 定 行 学 法 所 民 得 经 系统 文件 服务 配置 数据 用户 程序 模型 上下文 窗口 会话 迁移 缓存 数据库 索引 命令 选项 参数 函数 接口 错误 日志 版本 更新 安装 目录 路径 网络 连接 请求 响应 时间 内存 进程 线程 任务 队列 状态 消息 内容 格式 编码 字符 压缩 恢复 备份 测试 结果 问题 方法 工具 支持 使用 如果 可以 需要 通过 进行 没有 以及 或者 因为 所以 但是 然后 自动 默认 当前 所有 其他 重要 简单 完成 开始 运行 停止 检查 创建 删除 修改 读取 写入 打开 关闭`

// chinese makes text of about size bytes with few pieces seen twice.
func chinese(r *rand.Rand, size int) string {
	words := strings.Fields(chineseWords)
	zipf := rand.NewZipf(r, 1.1, 8, uint64(len(words)-1))
	var b strings.Builder
	for b.Len() < size {
		for range 3 + r.IntN(9) {
			b.WriteString(words[zipf.Uint64()])
		}
		b.WriteString([]string{"，", "。", "、", "；", "。\n", "：", " API "}[r.IntN(7)])
	}
	return b.String()
}

func BenchmarkCount(b *testing.B) {
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
		for kind, texts := range corpora(b) {
			b.Run(fmt.Sprintf("%s/%s", enc, kind), func(b *testing.B) {
				c := counter(b, enc)
				benchmark(b, texts, func(text []byte) int { return c.Count(text) })
			})
		}
	}
}

// BenchmarkOracle is tiktoken-go on a part of the same texts.
func BenchmarkOracle(b *testing.B) {
	for kind, texts := range corpora(b) {
		b.Run(kind, func(b *testing.B) {
			o := oracle(b, tokens.O200kBase)
			benchmark(b, texts[:min(len(texts), 50)], func(text []byte) int { return o(string(text)) })
		})
	}
}

func benchmark(b *testing.B, texts [][]byte, count func([]byte) int) {
	b.Helper()
	size := 0
	for _, text := range texts {
		size += len(text)
		count(text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			count(text)
		}
	}
}

// BenchmarkCold counts every message with a counter that has seen nothing.
func BenchmarkCold(b *testing.B) {
	for kind, texts := range corpora(b) {
		b.Run(kind, func(b *testing.B) {
			all := []byte{}
			for _, text := range texts {
				all = append(all, text...)
			}
			b.SetBytes(int64(len(all)))
			for b.Loop() {
				c := counter(b, tokens.O200kBase)
				for _, text := range texts {
					c.Count(text)
				}
			}
		})
	}
}

// BenchmarkWorst counts 1 MB of what counters choke on.
func BenchmarkWorst(b *testing.B) {
	for name, text := range worst(1 << 20) {
		for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
			b.Run(name+"/"+enc.String(), func(b *testing.B) {
				c := counter(b, enc)
				benchmark(b, [][]byte{text}, c.Count)
			})
		}
	}
}

// worst returns texts of about size bytes that are one piece, or few.
func worst(size int) map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(alphabet string) []byte {
		runes := []rune(alphabet)
		var b strings.Builder
		for b.Len() < size {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
		return []byte(b.String())
	}
	rep := func(s string) []byte { return []byte(strings.Repeat(s, size/len(s))) }
	var han strings.Builder
	for han.Len() < size {
		han.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
	}
	return map[string][]byte{
		"letter a":       rep("a"),
		"capital A":      rep("A"),
		"spaces":         rep(" "),
		"line ends":      rep("\n"),
		"CRLF":           rep("\r\n"),
		"equals":         rep("="),
		"space equals":   append([]byte(" "), rep("=")...),
		"equals dash":    rep("=-"),
		"dashes plus":    rep(strings.Repeat("-", 700) + "+"),
		"one ideograph":  rep("中"),
		"emoji":          rep("😀"),
		"base64":         pick("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
		"random letters": pick("abcdefghijklmnopqrstuvwxyz"),
		"ab":             pick("ab"),
		"equals or dash": pick("=-"),
		"blanks":         pick(" \t\n"),
		"random Han":     []byte(han.String()),
		"common Han":     []byte(strings.Join(strings.Fields(chinese(r, size)), "")),
		"zeros":          rep("\x00"),
		"digits":         pick("0123456789"),
		"space, digits":  append([]byte(" "), rep("0")...),
		"mark, digits":   append([]byte("\u0301"), rep("0")...),
		"Han capitals":   rep("中A"),
		"possessives":    rep("a's"),
	}
}

// BenchmarkLoad builds a vocabulary; it is done once a process.
func BenchmarkLoad(b *testing.B) {
	for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
		b.Run(enc.String(), func(b *testing.B) {
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var v any
			for b.Loop() {
				v = tokens.Build(enc)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-kept")
			runtime.KeepAlive(v)
		})
	}
}
