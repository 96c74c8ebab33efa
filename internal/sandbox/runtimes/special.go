package runtimes

import "strings"

// special describes files of an interpreter that can be derived neither from its headers nor from its location.
type special struct {
	prefix   string   // of the interpreter's file name
	exact    bool     // the name must equal prefix
	folders  []string // patterns
	programs []string // looked up by name
	files    []string // patterns
	// libraries are patterns of libraries that the interpreter loads at run time.
	libraries []string
}

func (s special) is(name string) bool {
	if s.exact {
		return name == s.prefix
	}
	return strings.HasPrefix(name, s.prefix)
}

var specials = [...]special{
	// Debian's folders for modules, and for settings of the whole host.
	{prefix: "python3", folders: []string{"/usr/lib/python3", "/usr/local/lib/python3*", "/etc/python3*"}},
	{prefix: "perl", folders: []string{"/usr/share/perl", "/usr/share/perl5", "/usr/lib/*/perl", "/usr/lib/*/perl5",
		"/usr/lib/*/perl-base",
		"/usr/local/share/perl", "/usr/local/lib/*/perl"}},
	{prefix: "ruby", folders: []string{"/usr/lib/ruby", "/usr/lib/*/ruby", "/usr/lib64/ruby", "/usr/share/ruby",
		"/usr/share/rubygems*"}},
	{prefix: "php", folders: []string{"/usr/lib/php", "/usr/lib64/php", "/usr/share/php", "/etc/php/*/cli",
		"/etc/php/*/mods-available"}},
	// What programs in Clojure are started with.
	{prefix: "java", exact: true, files: []string{"/usr/share/java/clojure*.jar", "/usr/share/java/spec.alpha*.jar",
		"/usr/share/java/core.specs.alpha*.jar"}},
	{prefix: "lua", folders: []string{"/usr/share/lua", "/usr/lib/*/lua", "/usr/local/share/lua", "/usr/local/lib/lua"}},
	{prefix: "pypy3", folders: []string{"/usr/lib/pypy3*", "/usr/lib/python3"}},
	{prefix: "swipl", folders: []string{"/usr/lib/swi-prolog"}},
	{prefix: "escript", exact: true, folders: erlangFolders,
		programs: append([]string{"erl"}, shellTools...)},
	{prefix: "elixir", exact: true, folders: append([]string{"/usr/lib/elixir"}, erlangFolders...),
		programs: append([]string{"erl"}, shellTools...)},
	{prefix: "Rscript", exact: true, folders: []string{"/usr/lib/R", "/usr/share/R", "/etc/R", "/usr/local/lib/R"},
		programs: append([]string{"R", "uname"}, shellTools...)},
	{prefix: "octave-cli", folders: []string{"/usr/share/octave", "/usr/lib/*/octave", "/etc/octave*"}},
	{prefix: "node", folders: []string{"/usr/share/nodejs", "/usr/lib/*/nodejs"}},
	{prefix: "mono", folders: []string{"/usr/lib/mono", "/etc/mono"},
		libraries: []string{"/usr/lib/libmono-native.so", "/usr/lib/libMonoPosixHelper.so"}},
	// The folders used by distributions and by Microsoft's packages; of the framework only the part that
	// console programs use. .NET searches several versions of ICU.
	{prefix: "dotnet", exact: true, folders: dotnetFolders,
		libraries: []string{"/usr/lib/*/libicuuc.so.*", "/usr/lib/*/libicui18n.so.*",
			"/usr/lib64/libicuuc.so.*", "/usr/lib64/libicui18n.so.*"}},
	{prefix: "sh", exact: true, programs: shellTools},
	{prefix: "dash", exact: true, programs: shellTools},
	{prefix: "bash", exact: true, programs: shellTools},
	{prefix: "busybox", exact: true, programs: shellTools}, // the tools are links to it
}

var erlangFolders = []string{"/usr/lib/erlang"}

var dotnetFolders = []string{"/usr/lib/dotnet/host", "/usr/lib/dotnet/shared/Microsoft.NETCore.App",
	"/usr/lib64/dotnet/host",
	"/usr/lib64/dotnet/shared/Microsoft.NETCore.App", "/usr/share/dotnet/host",
	"/usr/share/dotnet/shared/Microsoft.NETCore.App"}

// shellTools are the tools that scripts use for text, numbers, files and time. None of them concerns users,
// hosts, disks or packages, and none is an interpreter.
var shellTools = strings.Fields("" +
	"[ awk base64 basename bc cat chmod cksum cmp comm cp csplit cut date dc dd diff dirname echo egrep env expand " +
	"expr factor false fgrep find fmt fold gawk grep head join link ln ls mawk md5sum mkdir mkfifo mktemp mv nice " +
	"nl nproc numfmt od paste pr printenv printf ptx pwd readlink realpath rev rm rmdir sed seq sha1sum sha256sum " +
	"sha512sum shuf sleep sort split stat sum tac tail tee test timeout touch tr true truncate tsort unexpand uniq " +
	"unlink wc which xargs yes sh bash dash")
