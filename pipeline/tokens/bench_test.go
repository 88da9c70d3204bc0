package tokens_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/tokens/corpus"
)

// corpusSize is far more text than the caches of a counter hold.
const corpusSize = 4 << 20

// corpora returns texts of all kinds in messages.
func corpora(tb testing.TB) map[string][][]byte {
	tb.Helper()
	all := map[string][][]byte{}
	for _, k := range corpus.Kinds() {
		all[k.String()] = corpus.Messages(k, corpusSize)
	}
	return all
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

// BenchmarkCold counts every message with a counter that has seen none of them
// in this pass.
func BenchmarkCold(b *testing.B) {
	for kind, texts := range corpora(b) {
		b.Run(kind, func(b *testing.B) {
			size := 0
			for _, text := range texts {
				size += len(text)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				c := counter(b, tokens.O200kBase)
				for _, text := range texts {
					c.Count(text)
				}
			}
		})
	}
}

// BenchmarkWorst counts 1 MB of what counters choke on, and tells the least
// processor time that it took.
func BenchmarkWorst(b *testing.B) {
	for name, text := range worst(1 << 20) {
		for _, enc := range []tokens.Encoding{tokens.O200kBase, tokens.Cl100kBase} {
			b.Run(name+"/"+enc.String(), func(b *testing.B) {
				c := counter(b, enc)
				c.Count(text)
				best := time.Hour
				for b.Loop() {
					start := spent()
					c.Count(text)
					best = min(best, spent()-start)
				}
				b.ReportMetric(best.Seconds()*1e3/(float64(len(text))/1e6), "ms/MB")
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
		"hex":            pick("0123456789abcdef"),
		"HEX":            pick("0123456789ABCDEF"),
		"letter digit":   rep("a1"),
		"letters digits": pick("abcdefghijklmnopqrstuvwxyz0123456789"),
		"mixed letters":  pick("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
		"any ASCII":      pick(printable),
		"symbols":        pick("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"),
		"marks":          rep("a\u0301\u0323\u0308"),
		"only marks":     pick("\u0300\u0301\u0302\u0303\u0308\u0323\u20dd"),
		"emoji chain":    rep("👩\u200d❤\ufe0f\u200d👨🏽\u200d👧"),
		"any emoji":      pick("😀🎉👍🏽👩👨\u200d❤\ufe0f🇪🇺⚠✅🚀"),
		"runs":           runs(r, size),
		"rules":          rep(strings.Repeat("-", 512) + "\n" + strings.Repeat("=", 200) + "\n"),
		"runs of each":   runsOfEach(33, size),
		"longer of each": runsOfEach(171, size),
		"one Hangul":     rep("가"),
		"any Hangul":     hangul(r, size),
		"Kana":           pick("あいうえおかきくけこさしすせそアイウエオカキクケコー"),
		"Cyrillic":       pick("абвгдежзийклмнопрстуфхцчшщъыьэюя"),
		"any rune":       anyRunes(r, size),
		"no UTF-8":       noise(r, size),
		"word over":      rep("internationalization"),
		"escapes":        rep(`\\\\\"\u00e9`),
		"CRLF blanks":    rep("\r\n  \t"),
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

var printable = func() string {
	var b strings.Builder
	for c := byte(' '); c < 0x7f; c++ {
		b.WriteByte(c)
	}
	return b.String()
}()

// runs is of long runs of many bytes, each about as long as is not cut short.
func runs(r *rand.Rand, size int) []byte {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(strings.Repeat(string("=-_*#~+."[r.IntN(8)]), 200+r.IntN(600)))
	}
	return []byte(b.String())
}

// runsOfEach is of runs of n of one ideograph after the other.
func runsOfEach(n, size int) []byte {
	var b strings.Builder
	for r := rune(0x4e00); b.Len() < size; r++ {
		b.WriteString(strings.Repeat(string(r), n))
	}
	return []byte(b.String())
}

func hangul(r *rand.Rand, size int) []byte {
	var b strings.Builder
	for b.Len() < size {
		b.WriteRune(rune(0xac00 + r.IntN(11172)))
	}
	return []byte(b.String())
}

func anyRunes(r *rand.Rand, size int) []byte {
	var b strings.Builder
	for b.Len() < size {
		b.WriteRune(anyRune(r))
	}
	return []byte(b.String())
}

func noise(r *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
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
