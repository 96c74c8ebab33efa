#!/bin/sh
# A contest site with one problem, which judged judges, for a terminal. It keeps nothing itself: judged has the
# submissions, and a label says which are the site's. It needs curl, JUDGED_URL and JUDGED_TOKEN (scopes submit and read).
#
#     site.sh submit TEAM LANGUAGE FILE   submit a program, wait, print its verdict and id
#     site.sh report ID                   print the verdict of each test
#     site.sh list                        print all submissions, newest first
set -eu

site=shell-site

# The problem: print the sum of two numbers.
tests='[{"name": "1", "input": {"text": "1 2\n"}, "answer": {"text": "3\n"}},
{"name": "2", "input": {"text": "20 22\n"}, "answer": {"text": "42\n"}},
{"name": "3", "input": {"text": "-5 5\n"}, "answer": {"text": "0\n"}}]'

# ask PATH [CURL-OPTION...] sends a request to judged and prints the answer. Of an error it prints the problem details.
ask() {
    path=$1
    shift
    curl --silent --show-error --fail-with-body --header "Authorization: Bearer ${JUDGED_TOKEN-}" "$@" "$JUDGED_URL$path"
}

# first MEMBER prints the first value of a member of a JSON text, which is one line. A report begins with its own members.
first() { sed -n "s/^[^[]*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1; }

# plain TEXT fails if the text would have to be escaped in JSON.
plain() {
    case $1 in
    '' | *[!A-Za-z0-9._-]*)
        echo "site.sh: '$1' is no name; use letters, digits, . _ and -" >&2
        exit 2
        ;;
    esac
}

submit() {
    plain "$1"
    plain "$2"
    job="{\"program\": {\"part\": \"source\"}, \"language\": \"$2\", \"tests\": $tests,
\"labels\": {\"site\": \"$site\", \"team\": \"$1\"}, \"priority\": \"contest\", \"limits\": {\"cpu_time_ms\": 2000}}"
    # The site chooses the id, so that the request may be repeated. The answer comes when the job has ended, or after the
    # time.
    id=$(cat /proc/sys/kernel/random/uuid)
    answer=$(ask "/v1/jobs/$id?wait=60s" --request PUT --form "job=$job;type=application/json" --form "source=@$3") ||
        refused "$answer"
    while [ -z "$(printf "%s\n" "$answer" | first verdict)" ]; do
        answer=$(ask "/v1/jobs/$id?wait=60s") || refused "$answer"
    done
    echo "$(printf "%s\n" "$answer" | first verdict) $id"
}

refused() {
    echo "site.sh: $1" >&2
    exit 1
}

report() {
    plain "$1"
    answer=$(ask "/v1/jobs/$1?wait=60s") || refused "$answer"
    printf "%s\n" "$answer" | grep -o '"name":"[^"]*","verdict":"[A-Z]*"' | sed 's/"name":"\(.*\)","verdict":"\(.*\)"/\1 \2/'
}

# list prints one line for each job of each page.
list() {
    after=
    while :; do
        page=$(ask "/v1/jobs?label=site%3D$site&limit=500&after=$after") || refused "$page"
        printf "%s\n" "$page" | sed 's/{"id":"[^"]*","state"/\n&/g' | sed -n \
            's/^{"id":"\([^"]*\)","state":"\([a-z]*\)"\(,"verdict":"\([A-Z]*\)"\)\{0,1\}.*"team":"\([^"]*\)".*/\5 \2 \4 \1/p'
        after=$(printf "%s\n" "$page" | sed -n 's/.*"next":"\([^"]*\)"}$/\1/p')
        [ -n "$after" ] || return 0
    done
}

command=${1-}
shift || true
case "$command $#" in
"submit 3" | "report 1" | "list 0") "$command" "$@" ;;
*)
    sed -n 's/^#     //p' "$0" >&2
    exit 2
    ;;
esac
