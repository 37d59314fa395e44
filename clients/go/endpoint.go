package writer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer     = 1 << 20
	longestReason = 2_000
)

var (
	problemType = regexp.MustCompile(`"type"\s*:\s*"urn:annals:problem:([a-z-]+)"`)
	pointer     = regexp.MustCompile(`"pointer"\s*:\s*"/records/([0-9]{1,9})[/"]`)
	ofAction    = regexp.MustCompile(`"/records/[0-9]{1,9}/action"`)
	seconds     = regexp.MustCompile(`^[0-9]{1,9}$`)
	visible     = regexp.MustCompile(`^[!-~]+$`)
	// Problems with a record, not with the caller.
	ofRecords = map[string]bool{
		"malformed-json": true, "invalid-record": true, "record-id-taken": true, "body-too-large": true, "too-many-records": true,
	}
)

type kind int

const (
	later kind = iota
	stored
	refused
	split
)

type answer struct {
	kind   kind
	reason string
	// pause is the service's Retry-After.
	pause time.Duration
	// refused has the reasons by the indexes of the records.
	refused map[int]string
}

// endpoint is the HTTP endpoint for batches. Records count as stored only if the answer names their ids, and as refused only if the answer
// is a problem that the service defines.
type endpoint struct {
	url     string
	token   func() (string, error)
	client  *http.Client
	timeout time.Duration
}

func newEndpoint(options *Options) (*endpoint, error) {
	address, err := url.Parse(options.URL)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Hostname() == "" ||
		address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return nil, errors.New("the address of the service is http:// or https://, a host, and maybe a port and a path")
	}
	token := options.TokenSource
	if token == nil {
		if !visible.MatchString(options.Token) {
			return nil, errors.New("a token is made of visible ASCII characters")
		}
		token = func() (string, error) { return options.Token, nil }
	}
	client := &http.Client{Transport: &http.Transport{
		TLSHandshakeTimeout: 10 * time.Second,
		// HTTP/1.1 alone.
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     30 * time.Second,
	}}
	if options.HTTPClient != nil {
		own := *options.HTTPClient
		client = &own
	}
	// A redirect would take the token elsewhere.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &endpoint{
		url: strings.TrimRight(options.URL, "/") + "/v1/project-logs/batch", token: token, client: client, timeout: options.RequestTimeout,
	}, nil
}

func (e *endpoint) checkedToken() (token string, err error) {
	defer func() {
		// The application's code failed. Its message may contain the token, so it is left out.
		if fault := recover(); fault != nil {
			err = fmt.Errorf("there is no token: %T", fault)
		}
	}()
	token, err = e.token()
	if err != nil {
		return "", fmt.Errorf("there is no token: %T", err)
	}
	if !visible.MatchString(token) {
		return "", errors.New("there is no token: a token is made of visible ASCII characters")
	}
	return token, nil
}

// send returns within the timeout, or as soon as the context ends.
func (e *endpoint) send(stop context.Context, records []*entry) answer {
	token, err := e.checkedToken()
	if err != nil {
		return answer{reason: err.Error()}
	}
	ctx, cancel := context.WithTimeout(stop, e.timeout)
	defer cancel()
	var body bytes.Buffer
	body.WriteString(`{"records":[`)
	for i, record := range records {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(record.data)
	}
	body.WriteString("]}")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, &body)
	if err != nil {
		return answer{reason: "there is no request: " + err.Error()}
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, application/problem+json")
	response, err := e.client.Do(request)
	if err != nil {
		return answer{reason: "there is no answer: " + err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer{reason: "there is no answer: " + err.Error()}
	}
	if len(text) > maxAnswer {
		return answer{reason: fmt.Sprintf("the answer has more than %d bytes", maxAnswer)}
	}
	return read(response, string(text), records)
}

func read(response *http.Response, text string, records []*entry) answer {
	status := response.StatusCode
	if status == http.StatusOK || status == http.StatusCreated {
		if namesAll(records, text) {
			return answer{kind: stored}
		}
		return answer{reason: "the answer does not name the records: this is not the service"}
	}
	reason := fmt.Sprintf("Status %d: %s", status, shortened(text))
	problem := problemType.FindStringSubmatch(text)
	ofService := strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json")
	if ofService && problem != nil && ofRecords[problem[1]] {
		if reasons := reasons(text, len(records)); len(reasons) > 0 {
			return answer{kind: refused, refused: reasons}
		}
		return answer{kind: split, reason: reason}
	}
	// A proxy may take less than the service.
	if status == http.StatusRequestEntityTooLarge && len(records) > 1 {
		return answer{kind: split, reason: reason}
	}
	pause := time.Duration(0)
	if after := response.Header.Get("Retry-After"); seconds.MatchString(after) {
		count, _ := strconv.Atoi(after)
		pause = time.Duration(count) * time.Second
	}
	return answer{reason: reason, pause: pause}
}

func namesAll(records []*entry, text string) bool {
	for _, record := range records {
		at := strings.Index(text, record.id)
		if at < 0 {
			return false
		}
		text = text[at:]
	}
	return true
}

// reasons by the indexes of the records that a problem names.
func reasons(text string, records int) map[int]string {
	reasons := map[int]string{}
	for _, at := range pointer.FindAllStringSubmatchIndex(text, -1) {
		index, _ := strconv.Atoi(text[at[2]:at[3]])
		if _, isThere := reasons[index]; isThere || index >= records {
			continue
		}
		start := max(0, strings.LastIndexByte(text[:at[0]], '{'))
		end := len(text)
		if close := strings.IndexByte(text[at[1]:], '}'); close >= 0 {
			end = at[1] + close + 1
		}
		reasons[index] = shortened(text[start:end])
	}
	return reasons
}

func shortened(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + "…"
}
