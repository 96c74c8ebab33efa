"""Uses a server by the Python client of Judge0, in the ways that its README shows, and prints what came back as JSON.

The environment variables JUDGE0_CE_ENDPOINT and JUDGE0_CE_AUTH_HEADERS name the server of the implicit client.
"""

import json
import os

import judge0

HELLO = {
    "C": (judge0.C, '#include <stdio.h>\nint main() { printf("hello, world\\n"); return 0; }'),
    "C++": (judge0.CPP, '#include <iostream>\nint main() { std::cout << "hello, world" << std::endl; }'),
    "Bash": (judge0.BASH, 'echo "hello, world"'),
    "C#": (judge0.CSHARP, 'class Hello { static void Main() { System.Console.WriteLine("hello, world"); } }'),
    "Go": (judge0.GO, 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello, world") }'),
    "Haskell": (judge0.HASKELL, 'main = putStrLn "hello, world"'),
    "Java": (judge0.JAVA, "public class Main { public static void main(String[] a) "
                          '{ System.out.println("hello, world"); } }'),
    "JavaScript": (judge0.JAVASCRIPT, 'console.log("hello, world")'),
    "Lua": (judge0.LUA, 'print("hello, world")'),
    "OCaml": (judge0.OCAML, 'print_endline "hello, world"'),
    "Pascal": (judge0.PASCAL, "begin writeln('hello, world') end."),
    "Perl": (judge0.PERL, 'print "hello, world\\n";'),
    "PHP": (judge0.PHP, '<?php echo "hello, world\\n";'),
    "Plain text": (judge0.PLAIN_TEXT, "hello, world\n"),
    "Python": (judge0.PYTHON, "print('hello, world')"),
    "Ruby": (judge0.RUBY, 'puts "hello, world"'),
    "Rust": (judge0.RUST, 'fn main() { println!("hello, world"); }'),
}
GREET = "print(f'Hello, {input()}!')"

CLIENT = judge0.Client(os.environ["JUDGE0_CE_ENDPOINT"], retry_strategy=judge0.RegularPeriodRetry(0.05))


def run(**arguments):
    return judge0.run(client=CLIENT, **arguments)


def brief(s):
    return [s.status.name, s.stdout]


def languages():
    here = {name: pair for name, pair in HELLO.items() if CLIENT.is_language_supported(pair[0])}
    submissions = [judge0.Submission(source_code=source, language=language, memory_limit=512000, cpu_time_limit=10)
                   for language, source in here.values()]
    results = judge0.run(client=CLIENT, submissions=submissions)
    return {name: [s.status.name, s.stdout, s.compile_output, s.stderr] for name, s in zip(here, results)}


def standard_input():
    source = '#include <stdio.h>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); return 0; }'
    return brief(judge0.run(source_code=source, stdin="\n3 5\n", language=judge0.C))


def one_test_case():
    return brief(run(source_code=GREET, language=judge0.PYTHON, test_cases=judge0.TestCase("Bob", "Hello, Bob!")))


def test_cases():
    cases = [("Bob", "Hello, Bob!"), {"input": "Alice", "expected_output": "Hello, Alice!"}, ["Charlie", "Hello, Bob!"]]
    return [brief(s) for s in run(source_code=GREET, language=judge0.PYTHON, test_cases=cases)]


def test_cases_and_languages():
    c = '#include <stdio.h>\nint main() { char name[10]; scanf("%s", name); printf("Hello, %s!\\n", name); return 0; }'
    submissions = [judge0.Submission(source_code=GREET, language=judge0.PYTHON),
                   judge0.Submission(source_code=c, language=judge0.C)]
    return [brief(s) for s in run(submissions=submissions, test_cases=[("Bob", "Hello, Bob!"), ("Al", "Hello, Al!")])]


def asynchronous():
    submission = judge0.async_run(source_code="print('hello, world')", language=judge0.PYTHON)
    before = submission.stdout
    judge0.wait(submissions=submission)
    return [before, submission.stdout]


def many():
    submissions = [judge0.Submission(source_code=f"echo {i}", language=judge0.BASH) for i in range(200)]
    results = run(submissions=submissions)
    return [len(results), [i for i, s in enumerate(results) if brief(s) != ["ACCEPTED", f"{i}\n"]]]


def files():
    files = judge0.Filesystem(content=[judge0.File(name="my_file.txt", content="hello, file"),
                                       judge0.File(name="./dir1/dir2/my_file2.txt", content="hello, folder")])
    source = "print(open('my_file.txt').read(), open('dir1/dir2/my_file2.txt').read())"
    return brief(run(source_code=source, language=judge0.PYTHON, additional_files=files))


def compiled_with_files():
    files = judge0.Filesystem(content=[judge0.File(name="inc/a.h", content='#define A "inc/a.txt"'),
                                       judge0.File(name="inc/a.txt", content="from a file")])
    source = '#include <stdio.h>\n#include "inc/a.h"\nint main() { char b[20] = ""; fgets(b, 20, fopen(A, "r")); puts(b); }'
    return brief(run(source_code=source, language=judge0.C, additional_files=files))


def multi_file():
    compile = "mkdir bin made && gcc -static -o bin/main src/main.c && echo compiled && echo 1 > made/x"
    main = '#include <stdio.h>\nint main() { printf("%c\\n", getchar()); }'
    files = judge0.Filesystem(content=[
        judge0.File(name="compile", content=compile), judge0.File(name="src/main.c", content=main),
        judge0.File(name="run", content='./bin/main; cat made/x; echo "$@"')])
    broken = judge0.Filesystem(content=[judge0.File(name="compile.sh", content="echo no; exit 3"),
                                        judge0.File(name="run.sh", content="")])
    only_run = judge0.Filesystem(content=judge0.File(name="run.sh", content="echo $((1 + 1))"))
    all = [run(language=judge0.MULTI_FILE, additional_files=f, source_code="", stdin="z",
               command_line_arguments="'a  b'") for f in (files, broken, only_run)]
    return [brief(s) + [(s.compile_output or "").strip()] for s in all]


def failures():
    sources = {
        "compile error": (judge0.C, "int main( {"),
        "wrong answer": (judge0.PYTHON, "print(1)"),
        "exit code": (judge0.PYTHON, "import sys; sys.stderr.write('oh'); sys.exit(3)"),
        "segmentation fault": (judge0.C, "int main() { volatile int *p = 0; return *p; }"),
        "abort": (judge0.C, "#include <stdlib.h>\nint main() { abort(); }"),
        "endless": (judge0.C, "int main() { for (;;); }"),
        "sleep": (judge0.BASH, "sleep 60"),
    }
    seen = {}
    for name, (language, source) in sources.items():
        s = run(source_code=source, language=language, expected_output="2", cpu_time_limit=0.2, wall_time_limit=1)
        seen[name] = [s.status.name, s.exit_code, s.exit_signal, s.stderr, s.time is None, bool(s.compile_output)]
    return seen


def several_runs():
    s = run(source_code="print('a')", language=judge0.PYTHON, number_of_runs=3, command_line_arguments="x 'y z'")
    return brief(s) + [s.number_of_runs, s.time > 0, s.memory > 0, s.command_line_arguments]


def binary():
    return brief(run(source_code="import sys; sys.stdout.write(' '.join(sys.argv[1:]))", language=judge0.PYTHON,
                            command_line_arguments="a \"b  c\" '$HOME' *"))


def redirect():
    source = "import sys\nprint('a', flush=True); print('b', file=sys.stderr, flush=True); print('c')"
    s = run(source_code=source, language=judge0.PYTHON, redirect_stderr_to_stdout=True)
    return brief(s) + [s.stderr]


PARTS = [languages, standard_input, one_test_case, test_cases, test_cases_and_languages, asynchronous, many, files, compiled_with_files, multi_file,
         failures, several_runs, binary, redirect]
print(json.dumps({part.__name__: part() for part in PARTS}, sort_keys=True))
