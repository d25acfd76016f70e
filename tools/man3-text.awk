# man3-text.awk - comments as mdoc(7), for tools/man3.
#
# print_text() writes a comment to `page`, and collects what the page needs later: named_error[], linked[],
# returned[], shown[].

function out(text) {
    print text >page
}

# ---- Characters ------------------------------------------------------------------------

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/~/, "\\(ti", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/`/, "\\(ga", text)
    return text
}

# A word of a sentence.  '-' inside a word is a hyphen, and before a word or a number a minus; paths and
# options are not hyphenated.
function word(text,    whole) {
    whole = text ~ /[=$_~\/]./ ? "\\%" : ""
    text = escape(text)
    if (text ~ /'[^']+'/)
        gsub(/'/, "\\(aq", text)
    gsub(/^-|-[0-9]/, "\\\\&", text)
    return whole text
}

# A line of a program.
function code(text) {
    text = escape(text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    return text ~ /^\./ ? "\\&" text : text
}

# Quotes a text as one argument of a macro.
function quoted(text) {
    text = escape(text)
    gsub(/-/, "\\-", text)
    gsub(/"/, "\\(dq", text)
    return text ~ / / ? "\"" text "\"" : text
}

# ---- Sentences -------------------------------------------------------------------------

function flush_line() {
    if (line != "")
        out(line ~ /^[.']/ ? "\\&" line : line)
    line = ""
}

function add_word(text) {
    if (length(line) + length(text) > 78)
        flush_line()
    line = line (line == "" ? "" : " ") text
}

# ")," as the arguments that macros set without a space.
function marks(text) {
    gsub(/./, " &", text)
    return text
}

function macro(before, text, after) {
    flush_line()
    out("." (before == "(" ? "Pf ( " : "") text marks(after))
}

function link(called) {
    if (is_function[called] && section_of[is_function[called]] == section)
        return "Fn " called
    linked[called] = 1
    return "Xr " called " 3"
}

# A text between backquotes.
function name_macro(text) {
    if (text ~ /^(struct|enum) [a-z_]+$/)
        return "Vt " quoted(text)
    return (text ~ /^[a-z_]+$/ ? "Fa " : "Ql ") quoted(text)
}

function print_word(text,    core, before, after) {
    core = text
    before = after = ""
    if (match(core, /^\(/)) {
        before = "("
        core = substr(core, 2)
    }
    if (match(core, /[.,;:?!)]+$/) && core !~ /\(\)$/) {
        after = substr(core, RSTART)
        core = substr(core, 1, RSTART - 1)
        if (after ~ /^\)/ && core ~ /\($/) { # of "hf_name()"
            core = core ")"
            after = substr(after, 2)
        }
    }
    if (core ~ /^examples\/[a-z_]+\.c$/)
        shown[substr(core, 10)] = 1
    if (core ~ /^HF_E[A-Z]+$/)
        named_error[core] = 1
    gsub(/\001/, " ", core)
    if (core ~ /^hf_[a-z0-9_]+\(\)$/ && is_function[substr(core, 1, length(core) - 2)])
        macro(before, link(substr(core, 1, length(core) - 2)), after)
    else if (core ~ /^HF_[A-Z_]+$/ && after !~ /\.\./)
        macro(before, "Dv " core, after)
    else if (core ~ /^`[^`]+`$/)
        macro(before, name_macro(substr(core, 2, length(core) - 2)), after)
    else
        add_word(word(text))
}

function print_sentence(text,    words, count, i, inside) {
    gsub(/ +/, " ", text)
    # `two words` stay together.
    count = split(text, words, "`")
    text = words[1]
    for (i = 2; i <= count; i++) {
        inside = i % 2 == 0
        if (inside)
            gsub(/ /, "\001", words[i])
        text = text "`" words[i]
    }
    count = split(trim(text), words, " ")
    for (i = 1; i <= count; i++)
        print_word(words[i])
    flush_line()
}

# ---- Paragraphs ------------------------------------------------------------------------

function print_paragraph(text,    end, sentence) {
    while (text != "") {
        if (match(text, /[.?!][)"]?  +/)) {
            end = RSTART + RLENGTH
            sentence = trim(substr(text, 1, end - 1))
            text = substr(text, end)
        } else {
            sentence = text
            text = ""
        }
        if (sentence ~ /^Returns / && described != "") {
            returned[++returns] = "r" substr(sentence, 2)
            returned_by[returns] = described
            continue
        }
        if (gap)
            out(".Pp")
        gap = 0
        begun = 1
        print_sentence(sentence)
    }
}

function print_program(text,    lines, count, i) {
    out(".Bd -literal -offset indent")
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++)
        out(code(lines[i]))
    out(".Ed")
}

# KEY at the left margin, its text after two spaces or below; ?KEY inside it.
function print_table(text,    lines, count, i, open, key, rest) {
    out(".Bl -tag -width Ds")
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        rest = trim(lines[i])
        if (lines[i] !~ /^ / || rest ~ /^\?/) {
            if (lines[i] !~ /^ / && open) {
                out(".El")
                open = 0
            }
            if (lines[i] ~ /^ / && !open) {
                out(".Bl -tag -width Ds -compact")
                open = 1
            }
            key = rest
            sub(/  .*/, "", key)
            sub(/^[^ ]+( [^ ]+)*/, "", rest)
            out(".It Cm " quoted(key))
            rest = trim(rest)
        }
        # A sentence may go on in the next line.
        while (i < count && lines[i + 1] ~ /^ / && trim(lines[i + 1]) !~ /^\?/) {
            i++
            rest = rest (rest ~ /\.$/ ? "  " : " ") trim(lines[i])
        }
        print_cell(rest)
    }
    if (open)
        out(".El")
    out(".El")
}

function print_cell(text) {
    gap = 0
    print_paragraph(trim(text))
}

# A comment; its first paragraph begins without a gap.
function print_text(text,    lines, count, i, paragraph, block, program) {
    gap = begun = 0
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        if (lines[i] ~ /^    /) {
            print_paragraph(paragraph)
            paragraph = block = ""
            program = 0
            for (; i <= count && (lines[i] ~ /^    / || lines[i] == ""); i++) {
                block = block (block == "" ? "" : "\n") substr(lines[i], 5)
                if (lines[i] ~ /[;{]$/)
                    program = 1
            }
            i--
            sub(/\n+$/, "", block)
            if (program)
                print_program(block)
            else
                print_table(block)
            gap = begun = 1
        } else if (lines[i] == "") {
            print_paragraph(paragraph)
            paragraph = ""
            gap = begun
        } else {
            paragraph = paragraph (paragraph == "" ? "" : paragraph ~ /[.?!]$/ ? "  " : " ") lines[i]
        }
    }
    print_paragraph(paragraph)
}
