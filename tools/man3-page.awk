# man3-page.awk - writes the pages to `folder`, for tools/man3.
#
# Prints a line for each further name of a page: "hf_mutex hf_reader".

function begin_page(called) {
    page = folder "/" called ".3"
    out(".\\\" Made from holdfast.h by tools/man3.")
    out(".Dd " date)
    out(".Dt " toupper(called) " 3")
    out(".Os Holdfast " version)
    out(".Sh NAME")
}

function end_page(    names, count, i) {
    out(".Sh SEE ALSO")
    out(".Xr holdfast 1" (page_name == "libholdfast" ? "" : " ,"))
    if (page_name != "libholdfast") {
        linked["libholdfast"] = 1
        if (page_name != page_of["hf_error"])
            linked["hf_error"] = 1
        count = sorted(linked, names)
        for (i = 1; i <= count; i++)
            out(".Xr " names[i] " 3" (i < count ? " ," : ""))
    }
    close(page)
}

# The keys of an array in order.
function sorted(array, ret,    key, count, i) {
    for (key in array) {
        for (i = ++count; i > 1 && ret[i - 1] > key; i--)
            ret[i] = ret[i - 1]
        ret[i] = key
    }
    return count
}

function forget(array,    key) {
    for (key in array)
        delete array[key]
}

# ---- Parts of a page ---------------------------------------------------------------------

function names_of(s,    i, list) {
    for (i = 1; i <= items; i++)
        if (section_of[i] == s && kind[i] != "constant")
            list = list " " name[i]
    for (i = 1; i <= opaques; i++)
        if (page_of[opaque[i]] == page_of_section[s])
            list = list " " opaque[i]
    return substr(list, 2)
}

# The name of the page comes first; a function and a type may have the same name.
function print_names(s,    names, count, i, list, seen) {
    count = split(page_of_section[s] " " names_of(s), names, " ")
    list = ""
    for (i = 1; i <= count; i++)
        if (!(names[i] in seen) && page_of[names[i]] == page_of_section[s]) {
            seen[names[i]] = 1
            list = list (list == "" ? "" : "\n") names[i]
        }
    count = split(list, names, "\n")
    for (i = 1; i <= count; i++)
        out(".Nm " names[i] (i < count ? " ," : ""))
    out(".Nd " escape(purpose[s]))
}

function print_library() {
    out(".Sh LIBRARY")
    out("Holdfast (libholdfast, \\-lholdfast; pkg-config holdfast)")
}

function print_prototype(i,    parts, count, k) {
    out(".Ft " quoted(result[i]))
    out(".Fo " name[i])
    count = split(arguments[i], parts, ", *")
    for (k = 1; k <= count; k++)
        out(".Fa " quoted(parts[k]))
    out(".Fc")
}

function print_synopsis(s,    i) {
    out(".Sh SYNOPSIS")
    out(".In holdfast.h")
    for (i = 1; i <= items; i++)
        if (section_of[i] == s && kind[i] == "constant")
            out(".Fd #define " name[i] " " value[i])
    for (i = 1; i <= items; i++)
        if (section_of[i] == s && kind[i] == "type")
            out(".Vt " quoted(tag[i]) " ;")
    for (i = 1; i <= items; i++)
        if (section_of[i] == s && kind[i] == "function")
            print_prototype(i)
}

function print_members(i,    m, parts) {
    out(".Bl -tag -width Ds -compact")
    for (m = first[i]; m <= last[i]; m++) {
        if (tag[i] ~ /^enum/) {
            split(member[m], parts, " = ")
            out(".It Dv " parts[1] (member[m] ~ /=/ ? " No = " quoted(parts[2]) : ""))
        } else {
            out(".It Vt " quoted(member[m]))
        }
        print_text(meaning[m])
    }
    out(".El")
}

function print_type(i) {
    out(".It Vt " quoted(tag[i]))
    print_text(comment[i])
    if (begun)
        out(".Pp")
    print_members(i)
}

# The functions from i on that share a comment.
function print_functions(i,    k, heading) {
    heading = ".It"
    described = name[i]
    for (k = i; k <= items && group[k] == group[i]; k++)
        heading = heading (k > i ? " , Fn " : " Fn ") name[k]
    out(heading)
    print_text(comment[i])
    described = ""
}

function print_description(s,    i, borrowed) {
    out(".Sh DESCRIPTION")
    print_text(intro[s])
    out(".Bl -tag -width Ds")
    for (i = 1; i <= items; i++) {
        if (section_of[i] != s)
            continue
        if (kind[i] == "type") {
            print_type(i)
        } else if (kind[i] == "constant") {
            out(".It Dv " name[i])
            print_text(comment[i])
        } else {
            if (group[i] != group[i - 1])
                print_functions(i)
            borrowed = type_item[result[i]] # an enum of another page
            if (borrowed && section_of[borrowed] != s)
                print_type(borrowed)
        }
    }
    out(".El")
    if (page_uses(s, "timeout_ms")) {
        out(".Ss Time limits")
        print_text(chapter["Time limits"])
    }
}

function page_uses(s, argument,    i) {
    for (i = 1; i <= items; i++)
        if (section_of[i] == s && index(arguments[i], argument))
            return 1
    return 0
}

function page_can_fail(s,    i) {
    for (i = 1; i <= items; i++)
        if (section_of[i] == s && result[i] == "int")
            return 1
    return 0
}

function print_return_value(s,    i) {
    if (!page_can_fail(s))
        return
    out(".Sh RETURN VALUES")
    print_text(chapter["Results"])
    for (i = 1; i <= returns; i++) {
        out(".Pp")
        out(".Fn " returned_by[i])
        print_sentence(returned[i])
    }
}

function print_errors(s,    m, i, began) {
    i = type_item["enum hf_error"]
    if (!page_can_fail(s))
        return
    for (m = first[i]; m <= last[i]; m++) {
        split(member[m], parts, " = ")
        if (!(parts[1] in named_error))
            continue
        if (!began) {
            out(".Sh ERRORS")
            out("These codes are named above;")
            out(".Xr hf_error 3")
            out("has all of them.")
            out(".Bl -tag -width Ds")
            began = 1
        }
        out(".It Dv " parts[1])
        print_text(meaning[m])
    }
    if (began)
        out(".El")
}

function print_examples(    names, count, i, text, path) {
    count = sorted(shown, names)
    if (count)
        out(".Sh EXAMPLES")
    for (i = 1; i <= count; i++) {
        path = examples "/" names[i]
        out(".Bd -literal")
        if ((getline text <path) < 0)
            fault(path " is not there")
        do
            out(code(text))
        while ((getline text <path) > 0)
        close(path)
        out(".Ed")
    }
}

# ---- Pages -------------------------------------------------------------------------------

function print_page(s) {
    section = s
    page_name = page_of_section[s]
    forget(linked)
    forget(named_error)
    forget(shown)
    returns = 0
    begin_page(page_name)
    print_names(s)
    print_library()
    print_synopsis(s)
    print_description(s)
    print_return_value(s)
    print_examples()
    print_errors(s)
    end_page()
}

# The first comment of the header: a line, a program, and paragraphs that begin with a title.
function read_head(    lines, count, i, text) {
    count = split(head, lines, "\n")
    summary = lines[1]
    sub(/^holdfast\.h - /, "", summary)
    sub(/\.$/, "", summary)
    for (i = 2; i <= count; i++) {
        if (lines[i] ~ /^    / || (lines[i] == "" && !chapters)) {
            sample = sample (sample == "" ? "" : "\n") substr(lines[i], 5)
        } else if (match(lines[i], /^[A-Z][a-z, ]+\.  /) && lines[i - 1] == "") {
            chapter_title[++chapters] = substr(lines[i], 1, RLENGTH - 3)
            text = substr(lines[i], RLENGTH + 1)
            chapter[chapter_title[chapters]] = text
        } else {
            chapter[chapter_title[chapters]] = chapter[chapter_title[chapters]] "\n" lines[i]
        }
    }
    sub(/\n+$/, "", sample)
    for (i = 1; i <= chapters; i++)
        sub(/\n+$/, "", chapter[chapter_title[i]])
}

function print_overview(    s, i, names, count, seen) {
    section = 0
    page_name = "libholdfast"
    begin_page(page_name)
    out(".Nm libholdfast")
    out(".Nd " escape(summary))
    print_library()
    out(".Sh SYNOPSIS")
    out(".In holdfast.h")
    out(".Sh DESCRIPTION")
    out("These pages are made from the header, holdfast.h.")
    out(".Bl -tag -width Ds")
    for (s = 1; s <= sections; s++) {
        out(".It " title[s] ": " escape(purpose[s]))
        count = split(names_of(s), names, " ")
        forget(seen)
        for (i = 1; i <= count; i++)
            if (!(names[i] in seen) && page_of[names[i]] == page_of_section[s]) {
                out(".Xr " names[i] " 3" (i < count ? " ," : ""))
                seen[names[i]] = 1
            }
    }
    out(".El")
    for (i = 1; i <= chapters; i++) {
        out(".Ss " chapter_title[i])
        print_text(chapter[chapter_title[i]])
    }
    out(".Sh EXAMPLES")
    print_program(sample)
    end_page()
}

# Maps names to pages; functions come before types of the same name.
function name_pages(    i, k, s) {
    for (i = 1; i <= items; i++)
        if (kind[i] == "function" && page_of_section[section_of[i]] == "")
            page_of_section[section_of[i]] = name[i]
    for (i = items; i >= 1; i--)
        if (kind[i] == "type" && page_of_section[section_of[i]] == "")
            page_of_section[section_of[i]] = name[i]
    for (s = 1; s <= sections; s++)
        if (page_of_section[s] == "")
            fault("section " title[s] " is empty")
    for (i = 1; i <= items; i++)
        if (kind[i] == "function" || (kind[i] == "type" && !is_function[name[i]]))
            page_of[name[i]] = page_of_section[section_of[i]]
    # A type without a comment is on the page of the first function that creates one.
    for (k = 1; k <= opaques; k++)
        for (i = items; i >= 1; i--)
            if (index(arguments[i], "struct " opaque[k] " **ret"))
                page_of[opaque[k]] = page_of_section[section_of[i]]
}

END {
    if (failed)
        exit 1
    name_pages()
    read_head()
    for (s = 1; s <= sections; s++)
        print_page(s)
    print_overview()
    for (called in page_of)
        if (called != page_of[called])
            print page_of[called], called
}
