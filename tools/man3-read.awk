# man3-read.awk - reads holdfast.h, for tools/man3.
#
#   sections     title[s], purpose[s], intro[s]
#   items        functions, types and constants, in order: kind[i], name[i], section_of[i],
#                comment[i]; items with a common comment have the same group[i]
#   functions    result[i], arguments[i]: "struct hf_lock *lock, int64_t timeout_ms"
#   types        members first[i] to last[i]: member[m], meaning[m]
#
# Comments are kept as lines, without comment marks.

function fault(text) {
    print FILENAME ":" FNR ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

# A line of a comment, without comment marks.
function bare(text) {
    sub(/^[ ]*\/\* ?/, "", text)
    sub(/^ *\*( |$)/, "", text)
    sub(/ *\*\/ *$/, "", text)
    return text
}

function begin_section(text,    head, end) {
    head = text
    sub(/\n.*/, "", head)
    sub(/^---- /, "", head)
    sub(/ -*$/, "", head)
    if (!match(head, /: /))
        fault("a section is called \"Word: purpose\", not \"" head "\"")
    title[++sections] = substr(head, 1, RSTART - 1)
    purpose[sections] = substr(head, RSTART + 2)
    end = index(text, "\n")
    intro[sections] = end ? substr(text, end + 1) : ""
    sub(/^\n+/, "", intro[sections])
}

function end_comment() {
    if (above ~ /^---- /) {
        begin_section(above)
        above = ""
    } else if (above ~ /^clang-format/) {
        above = ""
    } else if (!sections) {
        head = above
        above = ""
    }
}

function add_item(what, called) {
    kind[++items] = what
    name[items] = called
    section_of[items] = sections
    if (above != "") {
        group[items] = ++groups
    } else if (joined) {
        group[items] = group[items - 1]
    } else {
        fault(called " has no comment")
    }
    comment[items] = above
    above = ""
    joined = 1
}

function add_function(text,    open) {
    sub(/;.*/, "", text)
    gsub(/HF_API|HF_CHECK/, "", text)
    gsub(/[ \t]+/, " ", text)
    open = index(text, "(")
    if (!match(text, /hf_[a-z0-9_]+\(/))
        fault("no function: " text)
    add_item("function", substr(text, RSTART, RLENGTH - 1))
    result[items] = trim(substr(text, 1, RSTART - 1))
    arguments[items] = substr(text, open + 1, length(text) - open - 1)
    gsub(/ \*\* ?/, " **", arguments[items])
    is_function[name[items]] = items
}

function add_member(text, says) {
    gsub(/[ \t]+/, " ", text)
    sub(/[;,] *$/, "", text)
    member[++members] = trim(text)
    meaning[members] = says
    last[items] = members
}

# One line inside the braces of a struct or enum.
function read_member(text) {
    if (in_remark) { # goes on behind a member, or above the next one
        remark = remark "\n" (remark_above ? bare(text) : trim(bare(text)))
        if (text ~ /\*\//)
            end_remark()
    } else if (declaration == "" && text ~ /^ *\/\*/) {
        remark_above = in_remark = 1
        remark = bare(text)
        if (text ~ /\*\//)
            end_remark()
    } else if (text ~ /^ *$/) {
        held_remark = ""
    } else {
        declaration = declaration " " text
        if (match(text, /\/\*/)) {
            declaration = substr(declaration, 1, index(declaration, "/*") - 1)
            remark_above = 0
            in_remark = 1
            remark = bare(substr(text, RSTART))
            if (text ~ /\*\//)
                end_remark()
        } else if (text ~ (tag[items] ~ /^enum/ ? ", *$" : "; *$")) {
            add_member(declaration, held_remark)
            declaration = held_remark = ""
        }
    }
}

function end_remark() {
    in_remark = 0
    if (remark_above) {
        held_remark = remark
    } else {
        add_member(declaration, remark)
        declaration = held_remark = ""
    }
}

/^#define HF_VERSION_/ { version = version (version == "" ? "" : ".") $3; next }

# Skip the declarations for C++.
/^#ifdef __cplusplus/ { skipping = 1; next }
/^#(else|endif)/ { skipping = 0; next }
skipping { next }

in_type && /^};/ { in_type = 0; next }
in_type { read_member($0); next }

in_comment || /^\/\*/ {
    above = in_comment ? above "\n" bare($0) : bare($0)
    in_comment = !/\*\//
    if (!in_comment)
        end_comment()
    next
}

in_function || /^HF_API/ {
    prototype = in_function ? prototype " " $0 : $0
    in_function = !/;/
    if (!in_function)
        add_function(prototype)
    next
}

sections && /^(struct|enum) [a-z_]+ \{$/ {
    add_item("type", $2)
    tag[items] = $1 " " $2
    type_item[tag[items]] = items
    first[items] = members + 1
    in_type = 1
    next
}

/^struct [a-z_]+;$/ { sub(/;/, "", $2); opaque[++opaques] = $2; joined = 0; next }

sections && /^#define HF_/ && above != "" {
    add_item("constant", $2)
    value[items] = $3
    next
}

# A comment of its own belongs to the section.
/^$/ {
    if (above != "") {
        intro[sections] = intro[sections] (intro[sections] == "" ? "" : "\n\n") above
        above = ""
    }
    joined = 0
}
